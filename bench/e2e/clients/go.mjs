/**
 * Go's net/http: a small program, built once a run, which takes the same job as worker.mjs and writes the same line.
 */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { PROGRAM_ENV } from '../../../scripts/program-env.mjs'
import { outputOf, start } from '../children.mjs'
import { directory } from '../temporary.mjs'

/** The first time it compiles the standard library. Milliseconds. */
const BUILD_LIMIT = 180_000

/** The first one in which net/http can be kept to one connection above its limit of streams. */
const oldest = 26

const { error, stdout } = spawnSync('go', ['env', 'GOVERSION'], { encoding: 'utf8', env: PROGRAM_ENV })

/** @type {import('./index.mjs').Program['whyNot']} */
export function whyNot() {
  if (error !== undefined) return 'which is not installed'
  const minor = Number(/^go1\.(\d+)/.exec(stdout)?.[1])
  return minor >= oldest ? null : `which needs Go 1.${oldest}, and this is ${stdout.trim()}`
}

/** @type {Promise<string> | undefined} */
let built

async function build() {
  const binary = join(directory, 'go-client')
  const source = fileURLToPath(new URL('go/main.go', import.meta.url))
  // Where it goes away with all else, also when this run is interrupted meanwhile.
  const env = { GOTMPDIR: directory }
  await outputOf(start('server', 'go', ['build', '-o', binary, source], env), BUILD_LIMIT)
  return binary
}

/** @type {import('./index.mjs').Program['toCommand']} */
export async function toCommand(job) {
  built ??= build()
  return { file: await built, args: [JSON.stringify(job)], read: JSON.parse }
}
