/** The program `dodici` in this process, from the sources: for what needs no process of its own. */

import { runCli } from '../../src/cli/cli.ts'
import { Terminal } from '../../src/cli/terminal.ts'

/** What is different from a process without a terminal. */
interface HereOptions {
  /** Whether standard input and standard error are a terminal. */
  readonly isTerminal?: boolean
  /** Called at each output to the standard error, with all of it so far. */
  readonly onError?: (text: string, interrupt: () => void) => void
  /** Gets what the user's Ctrl-C does. */
  readonly onStart?: (interrupt: () => void) => void
}

/** Runs a command line to its end. */
export async function runHere(args: readonly string[], options: HereOptions = {}) {
  const { isTerminal: isTTY = false } = options
  const said = { stdout: '', stderr: '' }
  const listeners = new Map<string, () => void>()
  const interrupt = (): void => listeners.get('SIGINT')?.()
  const toOutput = (name: 'stdout' | 'stderr') => ({
    isTTY,
    write(text: string) {
      said[name] += text
      if (name === 'stderr') options.onError?.(said.stderr, interrupt)
    },
    on() {},
  })
  const terminal = new Terminal({
    env: {},
    stdin: Object.assign(noInput(), { isTTY }),
    stdout: toOutput('stdout'),
    stderr: toOutput('stderr'),
    on: (signal: string, listener: () => void) => listeners.set(signal, listener),
    off: (signal: string) => listeners.delete(signal),
  })
  options.onStart?.(interrupt)
  return { code: await runCli(args, '1.2.3', terminal), ...said }
}

async function* noInput(): AsyncIterable<Uint8Array> {}
