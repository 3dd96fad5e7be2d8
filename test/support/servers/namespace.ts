/** Network namespaces of Linux: a test's own interfaces and routes, without root. */

import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { describe, expect, it, onTestFinished } from 'vitest'
import { PROGRAM_ENV } from '../../../scripts/program-env.mjs'

const env = { ...PROGRAM_ENV, NODE_OPTIONS: '' }

/** A user namespace in which this process is root, with a network namespace of its own. */
const UNSHARE = ['-Urn', 'sh', '-e', '-c']

/** Why there can be no namespace; null where there can. */
function toRefusal(): string | null {
  const { error, stderr, status } = spawnSync(
    'unshare',
    [...UNSHARE, 'ip link add v0 type veth peer name v1'],
    {
      env,
      encoding: 'utf8',
    },
  )
  if (error !== undefined) return error.message
  return status === 0 ? null : stderr.trim()
}

const refusal = toRefusal()

/**
 * A group of tests that need a namespace. Where the system forbids namespaces to users, which no program that could be installed
 * changes, one test stands in their place, and says so aloud.
 */
export function describeInNamespaces(title: string, define: () => void): void {
  if (refusal === null) {
    describe(title, define)
    return
  }
  console.warn(`LEFT OUT: the tests that need a network namespace. ${refusal}`)
  it(`${title}: left out, since the system forbids namespaces`, () => {
    expect(refusal).toMatch(/not permitted|denied|no space left/i)
  })
}

/**
 * Runs a script on this very Node, in a namespace that has these interfaces and routes, until it ends by itself.
 *
 * @param setUp commands of a shell, run as root of the namespace
 * @returns what the script has written
 */
export async function runInNamespace(setUp: string, script: string, ...args: string[]): Promise<string> {
  const command = `${setUp}\nexec "$@"`
  const child = spawn('unshare', [...UNSHARE, command, 'sh', process.execPath, script, ...args], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let stdout = ''
  let stderr = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text
  })
  const closed = once(child, 'close')
  onTestFinished(async () => {
    child.kill('SIGKILL')
    await closed
  })
  await closed
  if (child.exitCode !== 0) throw new Error(`It ended with ${child.exitCode ?? child.signalCode}: ${stderr}`)
  return stdout
}
