import { writeSync } from 'node:fs'

/** Tells the parent. At once and without a handle: `process.stdout` would be one more resource of this process. */
export function report(facts: unknown): void {
  writeSync(1, `${JSON.stringify(facts)}\n`)
}

/** The active resources of this process, less the file requests that the loader of modules may still have. */
export function toResources(): string[] {
  return process
    .getActiveResourcesInfo()
    .filter((name) => name !== 'CloseReq' && !name.startsWith('FSReq'))
    .sort()
}
