/** The packages that nothing but the benchmarks needs: bench/package.json has them, and this installs them. */
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const folder = fileURLToPath(new URL('.', import.meta.url))

/** Installs them where they are missing, or others than the lock file says. */
export function installPeers() {
  const installed = `${folder}node_modules/.package-lock.json`
  /** @param {string} file @returns {Record<string, { version: string }>} */
  const read = (file) => JSON.parse(readFileSync(file, 'utf8')).packages
  const isThere = (/** @type {[string, { version: string }]} */ [name, { version }]) =>
    name === '' || read(installed)[name]?.version === version
  if (existsSync(installed) && Object.entries(read(`${folder}package-lock.json`)).every(isThere)) return
  const args = ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']
  const { status, stderr } = spawnSync('npm', args, { cwd: folder, encoding: 'utf8' })
  if (status !== 0) throw new Error(`npm cannot install what bench/package.json names:\n${stderr}`)
}
