// Installs the library from git, as `npm install git+…` does: npm clones the commit, installs its development dependencies,
// and runs `prepare`, which builds dist/.
import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** It takes 50 s on two cores. Milliseconds. */
const INSTALL_LIMIT = 300_000

/** npm 12 installs nothing from git without the first one, and an older npm ignores it. Without scripts there is no build. */
const FLAGS = ['--allow-git=root', '--ignore-scripts=false', '--no-audit', '--no-fund', '--loglevel=error']

/**
 * @param {string} root a checkout: its current commit is installed, without what isn't committed
 * @param {string} temporary an empty folder, which the caller removes
 * @returns {Promise<string>} the folder of a project that has the package installed
 */
export async function installFromGit(root, temporary) {
  const { stdout } = await run('git', ['rev-parse', 'HEAD'], { cwd: root })
  const repository = join(temporary, 'repository.git')
  await run('git', ['clone', '--quiet', '--bare', root, repository])
  const consumer = join(temporary, 'consumer')
  await mkdir(consumer)
  await writeFile(join(consumer, 'package.json'), JSON.stringify({ private: true, type: 'module' }))
  const started = performance.now()
  // npm exits before it has removed its clone from the cache, so this cache goes with the folder.
  const cache = `--cache=${join(temporary, 'cache')}`
  await install([...FLAGS, cache, `git+file://${repository}#${stdout.trim()}`], consumer)
  const { name, version } = JSON.parse(
    await readFile(join(consumer, 'node_modules/dodici/package.json'), 'utf8'),
  )
  const seconds = Math.round((performance.now() - started) / 1_000)
  console.log(`${name} ${version} was installed from git at ${stdout.slice(0, 7)} and built, in ${seconds} s`)
  return consumer
}

/** Runs `npm install`, which has to end in time. @param {readonly string[]} args @param {string} cwd */
async function install(args, cwd) {
  // In a group of its own: npm starts another npm, and that one the build. They all end at once.
  const child = spawn('npm', ['install', ...args], { cwd, detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
  let said = ''
  for (const pipe of [child.stdout, child.stderr]) {
    pipe.setEncoding('utf8').on('data', (text) => {
      said += text
    })
  }
  const end = () => process.kill(-child.pid, 'SIGKILL')
  const timer = setTimeout(end, INSTALL_LIMIT)
  process.once('SIGINT', end).once('SIGTERM', end)
  const [code, signal] = await once(child, 'close')
  clearTimeout(timer)
  process.off('SIGINT', end).off('SIGTERM', end)
  const how = signal === null ? `with exit code ${code}` : `by ${signal}`
  assert.ok(code === 0, `npm install from git ended ${how}, of ${INSTALL_LIMIT / 1_000} s at most:\n${said}`)
}
