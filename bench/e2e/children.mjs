/** The processes of a run, each on its core, and the folder for all that it writes. */
import { spawn, spawnSync } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { keep, makeFolder } from '../../scripts/processes.mjs'
import { PROGRAM_ENV } from '../../scripts/program-env.mjs'
import { clientNamed } from './clients/index.mjs'

for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])) {
  // Leaving by process.exit() ends the children, which the default action of a signal doesn't.
  process.on(signal, () => process.exit(1))
}

export const { folder: directory } = makeFolder('bench')

/** Which core the server and the clients get, or null where they can't be pinned. */
export const cores =
  availableParallelism() > 1 &&
  [0, 1].every((core) => spawnSync('taskset', ['-c', `${core}`, 'true'], { env: PROGRAM_ENV }).status === 0)
    ? { client: 0, server: 1 }
    : null

/** The flags of Node for a process of a client. @param {string} client */
export const flagsOf = (client) => (cores === null ? [] : clientNamed(client).pinnedFlags)

/**
 * @param {'client' | 'server'} role @param {string} file @param {string[]} args
 * @param {Record<string, string>} [env] on top of `PROGRAM_ENV` @param {string} [on] cores, in place of the role's own
 */
export function start(role, file, args, env = {}, on = `${cores?.[role]}`) {
  // taskset replaces itself by the program, so killing the child kills the program.
  const [command, commandArgs] = cores === null ? [file, args] : ['taskset', ['-c', on, file, ...args]]
  return keep(spawn(command, commandArgs, { stdio: 'pipe', env: { ...PROGRAM_ENV, ...env } }))
}
