/** The runtimes that the program of this folder runs on, and its server. */

import { execFileSync, fork, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'
import type { PeerEnvironment } from './peer.ts'

const SCRIPT = fileURLToPath(new URL('../../../scripts/install-runtimes.sh', import.meta.url))
const INSTALL_NODE = fileURLToPath(new URL('../../../scripts/install-node.sh', import.meta.url))
const PEER = fileURLToPath(new URL('peer.ts', import.meta.url))

/** A runtime, and how it runs a program. */
export interface Runtime {
  readonly name: 'Node' | 'Bun' | 'Deno'
  /** Before the path of the program. */
  readonly args: readonly string[]
}

const NODE: Runtime = { name: 'Node', args: [] }
const BUN: Runtime = { name: 'Bun', args: ['--no-install'] }
const DENO: Runtime = { name: 'Deno', args: ['run', '--allow-all', '--node-modules-dir=manual', '--no-lock'] }

/** Which Node starts the other runtimes makes no difference: the default line does. */
const isDefaultLine = process.versions.node.split('.')[0] === '20'

export const RUNTIMES: readonly Runtime[] = isDefaultLine ? [NODE, BUN, DENO] : [NODE]

/** Whether its tests are skipped, which is said aloud. With CI=true they never are: there it is installed. */
export function lacksRuntime({ name }: Runtime): boolean {
  if (name === 'Node' || process.env.CI === 'true') return false
  const { status } = spawnSync(SCRIPT, [name.toLowerCase(), '--installed'])
  if (status === 0) return false
  console.warn(
    `SKIPPED: the tests on ${name}. scripts/install-runtimes.sh ${name.toLowerCase()} installs it.`,
  )
  return true
}

/** The path of its binary. Called before each start: with CI=true it is installed then. */
export function requireRuntime({ name }: Runtime): string {
  if (name === 'Node') return process.execPath
  return execFileSync(SCRIPT, [name.toLowerCase()], { encoding: 'utf8' }).trim()
}

/**
 * Starts the server, which ends with the test. On Node 20 it would run into heap corruption of node:http2 now and then, as
 * connections end in the middle of responses: there the pinned Node 22 runs it.
 */
export async function startPeer(): Promise<PeerEnvironment> {
  const execPath = isDefaultLine
    ? execFileSync(INSTALL_NODE, ['22'], { encoding: 'utf8' }).trim()
    : process.execPath
  const child = fork(PEER, { execPath, execArgv: ['--disable-warning=ExperimentalWarning'] })
  onTestFinished(() => {
    child.kill('SIGKILL')
  })
  const [environment] = (await once(child, 'message')) as [PeerEnvironment]
  return environment
}
