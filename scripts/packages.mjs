/** Folders with a package.json and a lock file apart, which `npm ci` of the project leaves alone. */
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Whether a folder has what its lock file names, in those versions. @param {string} folder */
export function hasPackages(folder) {
  const installed = join(folder, 'node_modules/.package-lock.json')
  if (!existsSync(installed)) return false
  /** @param {string} file @returns {Record<string, { version: string, optional?: boolean }>} */
  const read = (file) => JSON.parse(readFileSync(file, 'utf8')).packages
  const there = read(installed)
  return Object.entries(read(join(folder, 'package-lock.json'))).every(
    ([name, { version, optional }]) => name === '' || optional || there[name]?.version === version,
  )
}

/** Installs what is missing in a folder. @param {string} folder */
export function installPackages(folder) {
  if (hasPackages(folder)) return
  const args = ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']
  const { status, stderr } = spawnSync('npm', args, { cwd: folder, encoding: 'utf8' })
  if (status !== 0)
    throw new Error(`npm cannot install what ${join(folder, 'package.json')} names:\n${stderr}`)
}
