/** The command line in this process: faster than a process for each case. */

import { Readable } from 'node:stream'
import { runCli } from '../../../src/cli/cli.ts'
import { Terminal } from '../../../src/cli/terminal.ts'

/** How a command line runs. */
export interface HereOptions {
  readonly stdin?: string | Iterable<Uint8Array>
  readonly env?: Readonly<Record<string, string>>
  /** Which outputs are terminals. */
  readonly stdoutIsTTY?: boolean
  readonly stderrIsTTY?: boolean
  /** The reader of the standard output leaves after so many bytes. */
  readonly leavesAfter?: number
  /** Ctrl-C, when it is aborted. */
  readonly ctrlC?: AbortSignal
  /** Called with all of an output, each time that there is more. */
  readonly onStdout?: (stdout: string) => void
  readonly onStderr?: (stderr: string) => void
}

/** What a command line has said, and its exit code. */
export interface HereResult {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

function toLeft(): Error {
  return Object.assign(new Error('write EPIPE'), { code: 'EPIPE' })
}

/** Runs a command line to its end. */
export async function runHere(args: readonly string[], options: HereOptions = {}): Promise<HereResult> {
  const { ctrlC, env = {}, leavesAfter = Number.POSITIVE_INFINITY, stdin = '' } = options
  const listeners = new Set<() => void>()
  ctrlC?.addEventListener('abort', () => {
    for (const listener of [...listeners]) listener()
  })
  const stdout: Buffer[] = []
  let stderr = ''
  const terminal = new Terminal({
    env,
    stdin: Readable.from(typeof stdin === 'string' ? [Buffer.from(stdin)] : stdin),
    stdout: {
      isTTY: options.stdoutIsTTY === true,
      write(chunk, callback) {
        const hasLeft = Buffer.concat(stdout).length >= leavesAfter
        if (!hasLeft) stdout.push(Buffer.from(chunk))
        options.onStdout?.(Buffer.concat(stdout).toString())
        if (callback !== undefined) setImmediate(callback, hasLeft ? toLeft() : null)
      },
      on() {},
    },
    stderr: {
      isTTY: options.stderrIsTTY === true,
      write(chunk, callback) {
        stderr += String(chunk)
        options.onStderr?.(stderr)
        if (callback !== undefined) setImmediate(callback, null)
      },
      on() {},
    },
    on: (signal, listener) => signal === 'SIGINT' && listeners.add(listener),
    off: (_signal, listener) => listeners.delete(listener),
  })
  const code = await runCli(args, () => '1.2.3', terminal)
  return { code, stdout: Buffer.concat(stdout).toString(), stderr }
}
