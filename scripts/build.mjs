// Builds dist/. Without arguments it always builds, and tsup says what it writes. With `--if-changed` it builds only where the
// sources, the tools or dist/ aren't those of the last build: `npm cit` and `npm pack` ask for a build twice in a row.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../', import.meta.url))
const TSUP = join(root, 'node_modules/tsup/dist/cli-default.js')
/** What the last build was made of, and what it wrote. Git ignores it, and `npm ci` leaves it alone. */
const RECORD = join(root, '.cache/last-build')

/** What a build is made of. The last one is npm's own list of the packages that are installed. */
const INPUTS = [
  ...['src', 'types', 'scripts/build.mjs', 'scripts/entries.ts', 'tsup.config.ts', 'tsconfig.json'],
  ...['package.json', 'node_modules/.package-lock.json'],
]

/** One hash of the names and contents of these files and folders. @param {readonly string[]} paths */
function toHash(paths) {
  const hash = createHash('sha256')
  for (const file of paths.flatMap(listFiles)) {
    const content = readFileSync(join(root, file))
    hash.update(`${file}\0${content.length}\0`).update(content)
  }
  return hash.digest('hex')
}

/** @param {string} path @returns {string[]} none where there is nothing */
function listFiles(path) {
  const full = join(root, path)
  if (!existsSync(full)) return []
  if (!statSync(full).isDirectory()) return [path]
  const entries = readdirSync(full).sort()
  return entries.flatMap((entry) => listFiles(`${path}/${entry}`))
}

/**
 * Copies each error class's comment to the alias that the declarations' bundler creates for it in the namespace `errors`: an editor shows the alias.
 * This has to wait for tsup's end, because `onSuccess` runs while the declarations are being built.
 */
function describeErrors() {
  const path = join(root, 'dist/index.d.cts')
  const text = readFileSync(path, 'utf8')
  const described = text
    .replaceAll(/^type errorClasses_\w+ = (\w+);$/gm, (alias, name) => `${toComment(text, name)}\n${alias}`)
    .replace(
      /^declare namespace errorClasses /m,
      "/** Dodici's error classes, and those that only undici throws. */\n$&",
    )
  writeFileSync(path, described)
}

/** The comment above a class. @param {string} text @param {string} name */
function toComment(text, name) {
  const start = text.search(new RegExp(`^declare (abstract )?class ${name}\\b`, 'm'))
  const before = text.slice(0, start).trimEnd()
  if (start === -1 || !before.endsWith('*/')) throw new Error(`The class ${name} has no comment`)
  return before.slice(before.lastIndexOf('/**'))
}

/** @param {string} inputs */
const toRecord = (inputs) => `${inputs} ${toHash(['dist'])}\n`

/** @param {string} inputs @param {readonly string[]} args for tsup @returns {number} the exit code */
function build(inputs, args) {
  rmSync(join(root, 'dist'), { recursive: true, force: true })
  const { status } = spawnSync(process.execPath, [TSUP, ...args], { cwd: root, stdio: 'inherit' })
  if (status !== 0) return status ?? 1
  describeErrors()
  mkdirSync(join(root, '.cache'), { recursive: true })
  writeFileSync(RECORD, toRecord(inputs))
  return 0
}

const args = process.argv.slice(2)
// Before the build: a file that is edited meanwhile makes the next call build again.
const inputs = toHash(INPUTS)
if (args[0] !== '--if-changed') {
  process.exitCode = build(inputs, args)
} else if (!existsSync(TSUP)) {
  // `npm ci --omit=dev` in a clone runs this, too.
  console.log('dist/ was not built: that takes tsup, a development dependency, which is not installed')
} else if (!existsSync(RECORD) || readFileSync(RECORD, 'utf8') !== toRecord(inputs)) {
  const start = Date.now()
  console.log('building dist/ …')
  process.exitCode = build(inputs, ['--silent'])
  console.log(
    `${process.exitCode === 0 ? 'built' : 'failed'} after ${((Date.now() - start) / 1000).toFixed(1)} s`,
  )
}
