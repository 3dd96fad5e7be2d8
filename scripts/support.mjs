/** Modules in TypeScript for scripts, compiled: Node 20 runs none, and the support modules of the tests are such. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buildSync } from 'esbuild'

const scripts = import.meta.dirname

/** @type {import('esbuild').BuildOptions} */
const OPTIONS = { bundle: true, format: 'esm', platform: 'node', target: 'node20', ignoreAnnotations: true }

/**
 * Compiles in memory.
 *
 * @param {string} code such as `export { a } from '../test/support/a.ts'`: what it imports is relative to this folder
 * @returns {Promise<any>} what it exports
 */
export async function loadModules(code) {
  const { outputFiles } = buildSync({
    ...OPTIONS,
    stdin: { contents: code, resolveDir: scripts },
    write: false,
  })
  const [output] = outputFiles
  if (output === undefined) throw new Error('Nothing came of the modules')
  return import(`data:text/javascript;base64,${Buffer.from(output.contents).toString('base64')}`)
}

/**
 * Compiles a script for processes of its own.
 *
 * @param {string} path relative to this folder
 * @returns {{ file: string, remove: () => void }} `remove()`: as soon as the processes have loaded it
 */
export function compileScript(path) {
  const folder = mkdtempSync(join(tmpdir(), 'dodici-script-'))
  const remove = () => rmSync(folder, { recursive: true, force: true })
  const file = join(folder, 'script.mjs')
  try {
    // A stack trace names the sources, where the process runs with --enable-source-maps.
    buildSync({ ...OPTIONS, entryPoints: [join(scripts, path)], outfile: file, sourcemap: 'inline' })
  } catch (error) {
    remove()
    throw error
  }
  return { file, remove }
}
