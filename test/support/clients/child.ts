import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { onTestFinished } from 'vitest'

/** How a process ended, and all that it said. */
export interface Exit {
  /** Null when a signal ended it. */
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly stdout: string
  readonly stderr: string
}

/** Runs a script on this very Node until it ends by itself. One that doesn't is killed with the test. */
export function runNode(script: string, ...args: string[]): Promise<Exit> {
  return runNodeWith([], script, ...args)
}

/** @param flags Node's own */
export function runNodeWith(flags: readonly string[], script: string, ...args: string[]): Promise<Exit> {
  return run([...flags, script, ...args], {})
}

/** @param env variables that the child has beside those of this process */
export function runNodeIn(
  env: Readonly<Record<string, string>>,
  script: string,
  ...args: string[]
): Promise<Exit> {
  return run([script, ...args], env)
}

async function run(args: readonly string[], env: Readonly<Record<string, string>>): Promise<Exit> {
  // Node options of the test runner, or of the process that started it, are not for the child.
  const child = spawn(process.execPath, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, NODE_OPTIONS: '', ...env },
  })
  const said = { stdout: '', stderr: '' }
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    said.stdout += text
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said.stderr += text
  })
  // Not `exit`: the pipes may still hold something then.
  const closed = once(child, 'close')
  onTestFinished(async () => {
    child.kill('SIGKILL')
    await closed
  })
  await closed
  return { code: child.exitCode, signal: child.signalCode, ...said }
}
