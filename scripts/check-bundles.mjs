// What a bundler makes of a program that imports one name of the package.
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { build } from 'esbuild'

/** What a program begins with that imports `request` alone: bytes, minified, of the file that holds it. */
const MAX_REQUEST = 160_000
/** The same of `errors`. */
const MAX_ERRORS = 5_000

/** What a program that imports `request` loads later, or never: `fetch`, and the engines. */
const LATER = /^src\/(fetch|protocol|session\/(node|wire))\//

/**
 * Bundles a program of one import, in which what is imported late is split off.
 *
 * @param {string} folder of a project that has the package
 * @param {string} name
 * @returns {Promise<{ bytes: number, files: string[] }>} of the bundle's own file: the package's files that are in it
 */
async function bundle(folder, name) {
  const { metafile } = await build({
    stdin: { contents: `import { ${name} } from 'dodici'\nconsole.log(${name})`, resolveDir: folder },
    absWorkingDir: folder,
    outdir: join(folder, 'bundle'),
    ...{ bundle: true, splitting: true, minify: true, metafile: true, write: false },
    ...{ format: 'esm', platform: 'node', target: 'node20', external: ['undici'], logLevel: 'error' },
  })
  const [output] = Object.values(metafile.outputs).filter(({ entryPoint }) => entryPoint === '<stdin>')
  assert.ok(output)
  const inputs = Object.entries(output.inputs).filter(([, { bytesInOutput }]) => bytesInOutput > 0)
  return { bytes: output.bytes, files: inputs.map(([path]) => path).filter((path) => path !== '<stdin>') }
}

/** The modules of src/ that a file of the build is made of: esbuild names each. @param {string} file */
async function toModules(file) {
  return [...(await readFile(file, 'utf8')).matchAll(/^\/\/ (src\/.*)$/gm)].map(([, path]) => path)
}

/**
 * Who imports a part doesn't pay for the rest.
 *
 * @param {string} consumer the folder of a project that has the package installed
 */
export async function checkBundles(consumer) {
  const errors = await bundle(consumer, 'errors')
  assert.ok(errors.bytes <= MAX_ERRORS, `{ errors } is a bundle of ${errors.bytes} bytes`)
  const request = await bundle(consumer, 'request')
  assert.ok(request.bytes <= MAX_REQUEST, `{ request } is a bundle of ${request.bytes} bytes`)
  const modules = (await Promise.all(request.files.map((file) => toModules(join(consumer, file))))).flat()
  assert.ok(modules.includes('src/dispatcher/agent.ts'), 'the build names no modules any more')
  assert.deepEqual(
    modules.filter((path) => LATER.test(path)),
    [],
    '{ request } holds what it needs later, or never',
  )
  console.log(`bundles: { errors } has ${errors.bytes} bytes, { request } ${request.bytes} and no engine`)
}
