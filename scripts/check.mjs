/** Lint, types and the tests that need no build, at the same time: `npm run check`, `npm run typecheck`. */
import { spawn } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..')
const bin = join(root, 'node_modules/.bin')

/** What tsc has found, for the next time. */
const CACHE = join(root, 'node_modules/.cache/tsc')

/** @param {string} project @param {string} name @returns {string[]} */
const toTsc = (project, name) => [
  ...[
    'tsc',
    '-p',
    project,
    '--noEmit',
    '--incremental',
    '--tsBuildInfoFile',
    join(CACHE, `${name}.tsbuildinfo`),
  ],
]

/** The commands of each part. @type {Readonly<Record<string, readonly (readonly string[])[]>>} */
const PARTS = {
  lint: [['biome', 'check', '.']],
  typecheck: [toTsc('.', 'sources'), toTsc('scripts', 'scripts')],
  tests: [['vitest', 'run', '--project', 'pure', '--project', 'node', 'test/unit', 'test/protocol']],
}

/** Runs one to its end, and then says all that it said. @param {readonly string[]} command @returns {Promise<boolean>} whether nothing was wrong */
function run([program = '', ...args]) {
  const child = spawn(join(bin, program), args, { cwd: root, shell: process.platform === 'win32' })
  /** @type {Buffer[]} */
  const said = []
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => said.push(chunk))
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code) => {
      if (code !== 0) process.stdout.write(Buffer.concat(said))
      console.log(
        `${[program, ...args.slice(0, 2)].join(' ')}: ${code === 0 ? 'nothing is wrong' : `exit code ${code}`}`,
      )
      resolve(code === 0)
    })
  })
}

const names = process.argv.slice(2)
const unknown = names.filter((name) => !Object.hasOwn(PARTS, name))
if (names.length === 0 || unknown.length > 0) {
  console.error(`Usage: node scripts/check.mjs ${Object.keys(PARTS).join(' ')}, or some of them`)
  process.exitCode = 2
} else {
  mkdirSync(CACHE, { recursive: true })
  const results = await Promise.all(names.flatMap((name) => (PARTS[name] ?? []).map(run)))
  if (results.includes(false)) process.exitCode = 1
}
