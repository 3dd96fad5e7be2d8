/**
 * Child processes that don't outlive this one, unless it is killed outright, and core pinning.
 */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { availableParallelism } from 'node:os'
import { PROGRAM_ENV } from '../../scripts/program-env.mjs'

/** @typedef {import('node:child_process').ChildProcess} ChildProcess */

/** @type {Set<ChildProcess>} */
const running = new Set()

process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})
for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])) {
  // Ending by process.exit() runs the listener above, which the default action of a signal doesn't.
  process.on(signal, () => process.exit(1))
}

/** Which core the server and the clients get, or null where they can't be pinned. */
export const cores =
  availableParallelism() > 1 &&
  [0, 1].every((core) => spawnSync('taskset', ['-c', `${core}`, 'true'], { env: PROGRAM_ENV }).status === 0)
    ? { client: 0, server: 1 }
    : null

/**
 * @param {'client' | 'server'} role
 * @param {string} file
 * @param {string[]} args
 * @param {Record<string, string>} [env] on top of `PROGRAM_ENV`
 * @returns {ChildProcess}
 */
export function start(role, file, args, env = {}) {
  // taskset replaces itself by the program, so killing the child kills the program.
  const [command, commandArgs] =
    cores === null ? [file, args] : ['taskset', ['-c', `${cores[role]}`, file, ...args]]
  const child = spawn(command, commandArgs, { stdio: 'pipe', env: { ...PROGRAM_ENV, ...env } })
  running.add(child)
  child.once('close', () => running.delete(child))
  return child
}

/** @param {ChildProcess} child */
export async function stop(child) {
  if (!running.has(child)) return
  const closed = once(child, 'close')
  child.kill('SIGKILL')
  await closed
}

/**
 * Waits for a child to end and gives its standard output; a failure or a timeout is an error with what it
 * wrote.
 *
 * @param {ChildProcess} child
 * @param {number} timeout in milliseconds
 * @returns {Promise<string>}
 */
export async function outputOf(child, timeout) {
  let out = ''
  let err = ''
  child.stdout?.setEncoding('utf8').on('data', (chunk) => {
    out += chunk
  })
  child.stderr?.setEncoding('utf8').on('data', (chunk) => {
    err += chunk
  })
  let late = false
  const timer = setTimeout(() => {
    late = true
    child.kill('SIGKILL')
  }, timeout)
  try {
    const [code, signal] = await once(child, 'close')
    if (late) throw new Error(`not finished after ${timeout / 1000} s\n${err}`)
    if (code !== 0) throw new Error(`ended with ${signal ?? `exit code ${code}`}\n${err}`)
    return out
  } finally {
    clearTimeout(timer)
  }
}
