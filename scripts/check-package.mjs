// Packs the library, installs the tarball in an empty folder, and uses it there the way its users do: from an ES
// module, from CommonJS and from TypeScript, each against a server on loopback. It does the same with an install from git.
// Both are done as on a machine that has nothing but Node, npm and git: with an empty home, and without other programs.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { cp, mkdir, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http2'
import { delimiter, join, relative, sep } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'
import { makeFolder, portOf } from './processes.mjs'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../', import.meta.url))
const { version, devDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))

const ENTRIES = ['connect', 'grpc-js', 'index', 'testing', 'undici']
const FORMATS = ['cjs', 'd.cts', 'd.ts', 'js']
/** The files of the tarball: all of them, and no others, but for {@link PART}. */
const MEANT = [
  ...['LICENSE', 'README.md', 'dist/cli.js', 'package.json'],
  ...ENTRIES.flatMap((entry) => FORMATS.map((format) => `dist/${entry}.${format}`)),
].sort()

/** What `index.js` exports from. The names of chunks are made of what is in them. */
const PART = /^dist\/parts\/[\w-]+\.js$/
/** Bytes. */
const MAX_TARBALL = 640_000

/** What parts of the package may cost: bytes of gzip, of all their files. */
const PARTS = /** @type {const} */ ([
  ['dodici/testing', /^dist\/testing\./, 40_000],
  ['dodici/connect', /^dist\/connect\.c?js$/, 50_000],
  ['dodici/grpc-js', /^dist\/grpc-js\.c?js$/, 50_000],
  ['the command line', /^dist\/(cli\.js|parts\/cli-)/, 61_000],
])

/** The peers of `dodici/connect`. */
const CONNECT_PEERS = ['@bufbuild/protobuf', '@connectrpc/connect']

/** A newcomer's PATH: no server, no Go. The last three are git's: `git submodule` is a shell script. Windows keeps its own PATH. */
const PROGRAMS = ['node', 'npm', 'npx', 'git', 'sh', 'env', 'basename', 'sed', 'uname']

/**
 * npm's own program, where npm has started this one: Node runs it then, since Windows starts no `npm.cmd` without a shell. Undefined:
 * `npm` is looked for in PATH.
 */
const NPM = process.env.npm_execpath

const FLAGS = ['--no-audit', '--no-fund', '--ignore-scripts', '--prefer-offline', '--loglevel=error']

const TSCONFIG = {
  compilerOptions: {
    target: 'ES2022',
    module: 'NodeNext',
    strict: true,
    skipLibCheck: false,
    types: ['node'],
    outDir: 'out',
  },
  files: ['typescript.ts', 'typescript-cjs.cts', 'testing.ts', 'testing-cjs.cts'],
}

/** Which declarations a project may have: TypeScript, `@types/node`, and undici. The first of each are the newest. */
const TYPESCRIPTS = ['5.9.3', '5.8.3', '5.7.3', '5.6.3', '5.5.4', '5.4.5']
const NEWEST = TYPESCRIPTS[0]
/** Of them the oldest; with TEST_SCOPE=full all. */
const OLDER = process.env.TEST_SCOPE === 'full' ? TYPESCRIPTS.slice(1) : TYPESCRIPTS.slice(-1)
const NODE_TYPES = ['node', 'node-24', 'node-22', 'node-20']
/** What is compiled with each of them. */
const EVERYTHING = ['everything.ts', 'testing.ts', 'testing-cjs.cts']
const UNDICIS = ['undici-8', 'undici', 'undici-6']

/** What a program begins with that imports `request` alone: bytes, minified, of the file that holds it. */
const MAX_REQUEST = 195_000
/** The same of `errors`. */
const MAX_ERRORS = 5_000

/**
 * What a program that imports `request` loads later, or never: `fetch`, and the engines. The sizes of receive windows are those of
 * sessions on both engines, and are chosen before an engine is loaded.
 */
const LATER =
  /^src\/(fetch|protocol\/(?!(receive-windows|connection-window|frames)\.ts)|session\/(node|wire))/

/** For what hangs: it takes 50 s on two cores, and took 331 s on two that thirty processes shared. Milliseconds. */
const INSTALL_LIMIT = 600_000

/** npm 12 installs nothing from git without the first one, and an older npm ignores it. Without scripts there is no build. */
const GIT_FLAGS = ['--allow-git=root', '--ignore-scripts=false', '--no-audit', '--no-fund']

const { folder: temporary } = makeFolder('package')
const NEWCOMER = await makeNewcomer()
try {
  const tarball = await pack()
  const consumer = await install(tarball)
  await checkTypeScript(consumer)
  await weighParts(consumer)
  await checkBoth(consumer, 'dodici/testing', ['testing.mjs', 'testing.cjs'])
  // Where its peer isn't installed.
  await checkBoth(consumer, 'dodici/grpc-js', ['grpc-js.mjs', 'grpc-js.cjs'])
  await checkBundles(consumer)
  await checkCli(consumer)
  await checkConnect(consumer)
  await checkEverything(consumer)
  await checkPublished(tarball)
  await checkGit()
} catch (error) {
  // What the child printed says more than that it failed; tsc reports on stdout.
  console.error(error instanceof Error && 'stdout' in error ? `${error.message}\n${error.stdout}` : error)
  process.exitCode = 1
}

/**
 * The command that starts npm, or npx.
 *
 * @param {'npm' | 'npx'} name @param {readonly string[]} args @returns {[string, string[]]}
 */
function toCommand(name, args) {
  if (NPM === undefined) return [name, [...args]]
  return [process.execPath, [NPM.replace(/npm(-cli\.[cm]?js)$/, `${name}$1`), ...args]]
}

/** @param {readonly string[]} args @param {string} cwd @param {NodeJS.ProcessEnv} env @returns what it has told by both streams */
function npm(args, cwd, env = NEWCOMER) {
  // Of the build at an install from git, more than a mebibyte of output would be an error.
  return run(...toCommand('npm', args), {
    cwd,
    env,
    timeout: INSTALL_LIMIT,
    maxBuffer: Number.POSITIVE_INFINITY,
  })
}

/**
 * A folder with a package.json.
 *
 * @param {string} name @param {readonly string[]} files of test/tools/package that it has
 */
async function makeProject(name, files = []) {
  const folder = join(temporary, name)
  await mkdir(folder)
  await writeFile(join(folder, 'package.json'), JSON.stringify({ private: true, type: 'module' }))
  for (const file of files)
    await cp(join(root, 'test/tools/package', file), join(folder, file), { recursive: true })
  return folder
}

/**
 * The environment of a user who has just installed Node: an empty home, and no other programs. The registry is the one that
 * this machine has configured, and what npm has cached isn't fetched again.
 *
 * @returns {Promise<NodeJS.ProcessEnv>}
 */
async function makeNewcomer() {
  const [home, bin] = [join(temporary, 'home'), join(temporary, 'bin')]
  await mkdir(home)
  await mkdir(bin)
  const [userconfig, cache] = await Promise.all(
    ['userconfig', 'cache'].map((name) => npm(['config', 'get', name], root, process.env)),
  )
  const npmConfig = {
    npm_config_userconfig: userconfig?.stdout.trim(),
    npm_config_cache: cache?.stdout.trim(),
  }
  // What `npm run` has set for this program is no part of it.
  const others = Object.entries(process.env).filter(([name]) => !/^(npm_|INIT_CWD$|XDG_)/i.test(name))
  const env = { ...Object.fromEntries(others), ...npmConfig, HOME: home, USERPROFILE: home }
  if (process.platform === 'win32') return env
  for (const name of PROGRAMS)
    await symlink(name === 'node' ? process.execPath : findProgram(name), join(bin, name))
  return { ...env, PATH: bin }
}

/** @param {string} name @returns its path */
function findProgram(name) {
  const folder = process.env.PATH?.split(delimiter).find((path) => existsSync(join(path, name)))
  assert.ok(folder !== undefined, `${name} is in no folder of PATH`)
  return join(folder, name)
}

/** The files are those that are meant. @param {string[]} files @param {string} what has them */
function checkFiles(files, what) {
  const others = files.map((file) => file.replaceAll(sep, '/')).filter((file) => !PART.test(file))
  assert.deepEqual(others.sort(), MEANT, `${what} has other files than those that are meant`)
}

/** @returns the tarball's path */
async function pack() {
  // With prepack, which builds: the tarball is the one that would be published.
  const args = ['pack', '--json', '--loglevel=error', '--pack-destination', temporary]
  const { stdout } = await npm(args, root, process.env)
  // What the build says comes first.
  const [{ filename, size, files }] = JSON.parse(stdout.slice(stdout.search(/^\[$/m)))
  /** @type {string[]} */
  const paths = files.map((/** @type {{ path: string }} */ { path }) => path)
  console.log(`the tarball has ${size} bytes, and ${paths.length} files:\n  ${paths.join('\n  ')}`)
  checkFiles(paths, 'the tarball')
  assert.ok(size <= MAX_TARBALL, `the tarball has ${size} bytes, more than ${MAX_TARBALL}`)
  return join(temporary, filename)
}

/** @param {string} tarball @returns the folder of a project that has the tarball installed */
async function install(tarball) {
  const consumer = await makeProject('consumer', ['.'])
  await writeFile(join(consumer, 'tsconfig.json'), JSON.stringify(TSCONFIG))
  // Without a network: it has no dependencies. npm's warnings aren't silenced: npm 11 warns of a `prepare` script here and at an
  // install from git, and so a clone builds dist/ by `postprepare`, which npm runs right behind it.
  const { stderr } = await npm(['install', '--offline', '--no-audit', '--no-fund', tarball], consumer)
  assert.equal(stderr, '', 'npm warns of the package')
  const installed = (await readdir(join(consumer, 'node_modules'))).filter((name) => !name.startsWith('.'))
  assert.deepEqual(installed, ['dodici'], 'the package has brought others with it')
  await checkImports(consumer)
  await npm(['install', ...FLAGS, ...toPinned('typescript', '@types/node')], consumer)
  return consumer
}

/** As the lock file has them. @param {string[]} names of packages */
function toPinned(...names) {
  return names.map((name) => `${name}@${devDependencies[name]}`)
}

/**
 * Runs a program as an ES module and as CommonJS: both tell what the package exports.
 *
 * @param {string} consumer @param {string} entry @param {[esm: string, cjs: string]} files @param {string[]} args of both
 */
async function checkBoth(consumer, entry, [esm, cjs], ...args) {
  const names = JSON.parse(await node(consumer, [esm, ...args]))
  assert.ok(names.length > 0, `${entry} exports nothing`)
  assert.deepEqual(
    JSON.parse(await node(consumer, [cjs, ...args])),
    names,
    `${entry}: import and require differ`,
  )
  console.log(`${entry}, by import and by require: the same ${names.length} names: ${names.join(', ')}`)
}

/** A request each by import and by require. @param {string} consumer */
function checkImports(consumer) {
  return withServer((url) => checkBoth(consumer, 'dodici', ['esm.mjs', 'cjs.cjs'], url))
}

/** No part costs more than it may. @param {string} consumer */
async function weighParts(consumer) {
  const folder = join(consumer, 'node_modules/dodici')
  const files = (await readdir(folder, { recursive: true })).map((file) => file.replaceAll(sep, '/'))
  for (const [what, pattern, most] of PARTS) {
    const contents = await Promise.all(
      files.filter((file) => pattern.test(file)).map((file) => readFile(join(folder, file))),
    )
    assert.ok(contents.length > 0, `there is nothing of ${what}`)
    const size = contents.reduce((sum, content) => sum + gzipSync(content, { level: 9 }).length, 0)
    assert.ok(size <= most, `${what} costs ${size} bytes, more than ${most}`)
    console.log(`${what}: ${size} bytes as gzip`)
  }
}

/**
 * `dodici/connect`, which nothing else of the package has loaded: a call, and its declarations. Without its peers it says which one is
 * missing.
 *
 * @param {string} consumer
 */
async function checkConnect(consumer) {
  await assert.rejects(node(consumer, ['connect.mjs']), /@connectrpc\/connect/)
  await npm(['install', ...FLAGS, ...toPinned(...CONNECT_PEERS)], consumer)
  await checkBoth(consumer, 'dodici/connect', ['connect.mjs', 'connect.cjs'])
  // The declarations of connect-es name `HeadersInit`, which is the DOM's.
  await compile(consumer, 'typescript', ['--lib', 'es2022,dom'], ['connect.ts', 'connect-cjs.cts'])
}

/**
 * `npx dodici`: it starts, its servers serve a request that the installed package makes, and end by a signal.
 *
 * @param {string} consumer
 */
async function checkCli(consumer) {
  await checkProgram(consumer)
  const status = await node(consumer, ['cli.mjs', join(temporary, 'cache')])
  assert.equal(status.trim(), '200 200 0\n200 200 0', 'dodici serve or dodici faults failed')
  console.log('dodici serve and dodici faults: a request over h2c and over TLS each')
}

/** It is there as `npx dodici`. @param {string} consumer */
async function checkProgram(consumer) {
  const ask = (/** @type {string} */ option) =>
    run(...toCommand('npx', ['--no-install', 'dodici', option]), { cwd: consumer, env: NEWCOMER })
  assert.equal((await ask('--version')).stdout.trim(), version, 'npx dodici --version says another version')
  assert.match((await ask('--help')).stdout, /dodici serve/, "npx dodici --help doesn't name its commands")
}

/** What an install from git has: the same dist/ as the tarball, which is all that users see. */
async function checkGit() {
  const consumer = await installFromGit()
  const folder = join(consumer, 'node_modules/dodici')
  const files = await readdir(folder, { recursive: true, withFileTypes: true })
  checkFiles(
    files.filter((file) => file.isFile()).map((file) => relative(folder, join(file.parentPath, file.name))),
    'an install of the current commit from git',
  )
  await checkImports(consumer)
  await checkProgram(consumer)
}

/** @param {string} consumer */
async function checkTypeScript(consumer) {
  await node(consumer, ['node_modules/typescript/bin/tsc', '-p', '.'])
  console.log('typescript: the declarations hold for import and require, with skipLibCheck false')
  // By default in newer lines of Node, behind a flag in 22, and not at all in 20.
  const flag = '--experimental-strip-types'
  const isFlag = process.allowedNodeEnvironmentFlags.has(flag)
  const args = process.features.typescript
    ? ['typescript.ts']
    : isFlag
      ? [flag, 'typescript.ts']
      : ['out/typescript.js']
  await withServer((url) => node(consumer, [...args, url]))
  console.log(`typescript: a request, with node ${args.join(' ')}`)
}

/**
 * Checks files, with the declarations of the package.
 *
 * @param {string} folder @param {string} typescript its folder in node_modules @param {string[]} options @param {string[]} files
 */
function compile(folder, typescript, options, files) {
  const common = '--noEmit --strict --skipLibCheck false --module nodenext --target es2022 --types node'
  const tsc = `node_modules/${typescript}/bin/tsc`
  return node(folder, [tsc, ...common.split(' '), ...options, ...files])
}

/**
 * Compiles the project that uses everything, with each TypeScript, each `@types/node` and each undici.
 *
 * @param {string} consumer
 */
async function checkEverything(consumer) {
  const project = await makeProject('everything', EVERYTHING)
  const toAlias = (/** @type {string} */ alias, /** @type {string} */ key, /** @type {string} */ real) => {
    const version = devDependencies[key]
    return `${alias}@${version.startsWith('npm:') ? version : `npm:${real}@${version}`}`
  }
  const versions = [
    ...[NEWEST, ...OLDER].map((version) => `typescript-${version}@npm:typescript@${version}`),
    ...NODE_TYPES.map((name) => toAlias(`types-${name}`, `@types/${name}`, '@types/node')),
    ...UNDICIS.map((name) => toAlias(`the-${name}`, name, 'undici')),
  ]
  await npm(['install', ...FLAGS, ...versions], project)
  await cp(join(consumer, 'node_modules/dodici'), join(project, 'node_modules/dodici'), { recursive: true })

  const settings = [
    ...UNDICIS.map((undici) => ({ typescript: NEWEST, types: NODE_TYPES[0], undici })),
    ...NODE_TYPES.slice(1).map((types) => ({ typescript: NEWEST, types, undici: UNDICIS[0] })),
    // Those of Node 26 need TypeScript 5.6.
    ...OLDER.map((typescript) => ({ typescript, types: 'node-24', undici: UNDICIS[0] })),
  ]
  for (const setting of settings) await compileEverything(project, setting)
  console.log(`typescript: a project that uses everything compiles in ${settings.length} settings`)
}

/** @param {string} project @param {{ typescript: string, types: string, undici: string }} setting */
async function compileEverything(project, { typescript, types, undici }) {
  const put = async (/** @type {string} */ name, /** @type {string} */ from) => {
    await rm(join(project, 'node_modules', name), { recursive: true, force: true })
    await cp(join(project, 'node_modules', from), join(project, 'node_modules', name), { recursive: true })
  }
  await put('@types/node', `types-${types}`)
  await put('undici', `the-${undici}`)
  const options = ['--exactOptionalPropertyTypes', '--lib', 'es2022']
  await compile(project, `typescript-${typescript}`, options, EVERYTHING)
}

/** What others look at in a package: whether its types and entries are those that they say. @param {string} tarball */
async function checkPublished(tarball) {
  const tools = await makeProject('tools')
  await npm(['install', ...FLAGS, 'publint@0.3.25', '@arethetypeswrong/cli@0.18.5'], tools)
  await run(...toCommand('npx', ['--no-install', 'publint', 'run', '--strict', tarball]), { cwd: tools })
  await run(...toCommand('npx', ['--no-install', 'attw', tarball]), { cwd: tools })
  console.log('publint and attw have no objection')
}

/** Runs a file with this Node. @param {string} cwd @param {string[]} args @returns what it printed */
async function node(cwd, args) {
  // A client that leaves something open would keep its process for ever; a busy machine takes a minute for some compilations.
  const { stdout } = await run(process.execPath, args, { cwd, env: NEWCOMER, timeout: 300_000 })
  return stdout
}

/** Runs a function while a cleartext HTTP/2 server responds on loopback. @param {(url: string) => Promise<unknown>} use */
async function withServer(use) {
  const server = createServer((_request, response) => response.end('hello'))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  try {
    await use(`http://127.0.0.1:${portOf(server)}`)
  } finally {
    server.close()
  }
}

/**
 * Bundles a program of one import, in which what is imported late is split off.
 *
 * @param {string} folder of a project that has the package @param {string} name
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
async function checkBundles(consumer) {
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

/**
 * Installs the current commit from git, without what isn't committed, as `npm install git+…` does: npm clones it, installs its
 * development dependencies, and runs `postprepare`, which builds dist/.
 *
 * @returns {Promise<string>} the folder of a project that has the package installed
 */
async function installFromGit() {
  const { stdout } = await run('git', ['rev-parse', 'HEAD'], { cwd: root })
  const repository = join(temporary, 'repository.git')
  await run('git', ['clone', '--quiet', '--bare', root, repository])
  const consumer = await makeProject('from-git', ['esm.mjs', 'cjs.cjs', 'request.mjs'])
  const started = performance.now()
  // npm exits before it has removed its clone from the cache, so this cache goes with the folder.
  const cache = `--cache=${join(temporary, 'cache')}`
  const source = `git+${pathToFileURL(repository)}#${stdout.trim()}`
  const { stderr } = await npm(['install', ...GIT_FLAGS, cache, source], consumer)
  assert.equal(stderr, '', 'npm warns of the package')
  const seconds = Math.round((performance.now() - started) / 1_000)
  console.log(`${stdout.slice(0, 7)} was installed from git and built, in ${seconds} s`)
  return consumer
}
