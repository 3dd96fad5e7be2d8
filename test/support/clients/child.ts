import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { afterAll } from 'vitest'

/** Children that run. Which of several concurrent tests started one is not known: the file's end is what they all have. */
const running = new Set<ChildProcess>()

afterAll(async () => {
  await Promise.all(
    [...running].map(async (child) => {
      const closed = once(child, 'close')
      child.kill('SIGKILL')
      await closed
    }),
  )
})

/** How a process ended, and all that it said. */
export interface Exit {
  /** Null when a signal ended it. */
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly stdout: string
  readonly stderr: string
}

/** Runs a script on this very Node until it ends by itself. One that doesn't is killed after the tests of the file. */
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
  running.add(child)
  await once(child, 'close')
  running.delete(child)
  return { code: child.exitCode, signal: child.signalCode, ...said }
}
