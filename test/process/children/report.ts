import { writeSync } from 'node:fs'

/**
 * Reports to the parent, synchronously and without a handle: `process.stdout` would be another resource of this
 * process.
 */
export function report(facts: unknown): void {
  writeSync(1, `${JSON.stringify(facts)}\n`)
}

/**
 * The active resources of this process, without the file requests that the module loader may still have, and without
 * the pipe that comes with node:http2: it is that of `process.stderr`, and Node's own.
 */
export function toResources(): string[] {
  return process
    .getActiveResourcesInfo()
    .filter((name) => name !== 'CloseReq' && name !== 'PipeWrap' && !name.startsWith('FSReq'))
    .sort()
}
