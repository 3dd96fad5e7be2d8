/**
 * Builds of a revision, each in a directory of its own that goes with the process.
 */
import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { outputOf, start } from './children.mjs'
import { UsageError } from './options.mjs'
import { directory } from './temporary.mjs'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** What stands for the work tree as it is. */
const WORK_TREE = ['.', 'worktree']

/** How long a build may take, in milliseconds. */
const LIMIT = 120_000

/**
 * @typedef {object} Revision
 * @property {string | null} hash null: the work tree
 * @property {string} title
 */

/**
 * @param {string[]} args
 * @returns {{ status: number | null, output: string }}
 */
function git(...args) {
  const { status, stdout, stderr, error } = spawnSync('git', args, { cwd: root, encoding: 'utf8' })
  if (error !== undefined) throw error
  return { status, output: status === 0 ? stdout.trim() : stderr.trim() }
}

/**
 * @param {string} name
 * @returns {Revision}
 */
export function toRevision(name) {
  if (WORK_TREE.includes(name)) return { hash: null, title: 'the work tree as it is' }
  const { status, output } = git('rev-parse', '--verify', '--quiet', '--end-of-options', `${name}^{commit}`)
  if (status !== 0) throw new UsageError(`no such revision: ${name}`)
  return { hash: output, title: git('log', '-1', '--format=%h %s', output).output }
}

/**
 * Runs a program to its end in a directory.
 *
 * @param {string} folder
 * @param {string} file
 * @param {string[]} args
 */
async function runIn(folder, file, ...args) {
  await outputOf(start('server', 'sh', ['-c', 'cd "$0" && exec "$@"', folder, file, ...args]), LIMIT)
}

/**
 * @param {Revision} revision
 * @param {string} name of its directory
 * @returns {Promise<string>} the file to load
 */
export async function build({ hash, title }, name) {
  const target = join(directory, name)
  mkdirSync(target)
  try {
    if (hash === null) {
      // It says that what is built are modules.
      copyFileSync(join(root, 'package.json'), join(target, 'package.json'))
    } else {
      const archive = join(directory, `${name}.tar`)
      await runIn(root, 'git', 'archive', '--format=tar', `--output=${archive}`, hash)
      await runIn(target, 'tar', '-xf', archive)
      // What built the work tree builds it: an install of each revision's own takes longer than all else.
      symlinkSync(join(root, 'node_modules'), join(target, 'node_modules'))
    }
    const tsup = join(root, 'node_modules', 'tsup', 'dist', 'cli-default.js')
    const output = ['--out-dir', join(target, 'dist'), '--format', 'esm', '--no-dts', '--silent']
    // What the build does to its other entries afterwards is done to `dist` of where it runs, and to both formats.
    const alone = ['--onSuccess', 'true']
    await runIn(hash === null ? root : target, process.execPath, tsup, ...output, ...alone)
  } catch (error) {
    throw new Error(`cannot build ${title}: ${error instanceof Error ? error.message : error}`)
  }
  return join(target, 'dist', 'index.js')
}
