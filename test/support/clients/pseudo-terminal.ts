/** Lines of a shell, and such as have a terminal. */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { onTestFinished } from 'vitest'
import { PROGRAM_ENV } from '../../../scripts/program-env.mjs'
import { requireProgram } from '../servers/programs.ts'
import { CLI } from './cli.ts'

/** How a line has ended, and what it has said to the standard output and the standard error. */
export interface ShellExit {
  readonly code: number | null
  readonly output: string
}

/** `dodici`, as a shell calls it. */
export const program = `'${process.execPath}' '${CLI}'`

/** Runs a line of a shell to its end. */
export async function runShell(line: string): Promise<ShellExit> {
  const child = spawn('sh', ['-c', line], { env: { ...PROGRAM_ENV, NODE_OPTIONS: '', NO_COLOR: '' } })
  onTestFinished(() => void child.kill('SIGKILL'))
  let output = ''
  for (const pipe of [child.stdout, child.stderr]) {
    pipe.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
  }
  await once(child, 'close')
  return { code: child.exitCode, output }
}

/** In a terminal: `script` gives it one, and its exit code. */
export function runInTerminal(line: string): Promise<ShellExit> {
  requireProgram('script')
  return runShell(`TERM=xterm script -qec "${line}" /dev/null`)
}
