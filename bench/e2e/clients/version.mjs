import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/**
 * The version of the package that a module belongs to: what its nearest package.json with a version says.
 *
 * @param {string} url of the module
 * @returns {string}
 */
export function versionOf(url) {
  for (let folder = dirname(fileURLToPath(url)); folder !== dirname(folder); folder = dirname(folder)) {
    try {
      /** @type {{ version?: string }} */
      const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
      if (version !== undefined) return version
    } catch (error) {
      if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'ENOENT') throw error
    }
  }
  return 'unknown'
}
