// Runs the conformance suite of Connect (github.com/connectrpc/conformance) with connect-es over dodici/connect as the client under
// test, on both engines. It takes Go, two minutes, and, the first time, Go's module proxy: CI runs it not.
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ENGINES, readOptions, runMain } from './options.mjs'

const help = `Runs Connect's conformance suite. Needs the build, and Go.

  npm run conformance:connect
  --engine NAME     node, wire or both (default: both)
`

const VERSION = 'v1.0.7'
const root = fileURLToPath(new URL('../', import.meta.url))
const folder = join(root, '.cache', 'connect-conformance', VERSION)
const runner = join(folder, 'connectconformance')
const suite = join(root, 'test/interop/connect-conformance')

/** @param {string} command @param {string[]} args @param {Record<string, string>} [env] */
function run(command, args, env = {}) {
  const { status, error } = spawnSync(command, args, { stdio: 'inherit', env: { ...process.env, ...env } })
  if (error !== undefined) throw error
  if (status !== 0) throw new Error(`${command} ended with ${status}`)
}

await runMain(async () => {
  const engines = readOptions(help).choice('engine', ENGINES, 'both')
  if (!existsSync(runner)) {
    run('go', ['install', `connectrpc.com/conformance/cmd/connectconformance@${VERSION}`], { GOBIN: folder })
  }
  for (const engine of engines) {
    console.log(`engine ${engine}`)
    const client = [process.execPath, join(suite, 'client.mjs'), engine]
    run(runner, ['--mode', 'client', '--conf', join(suite, 'config.yaml'), '--', ...client])
  }
})
