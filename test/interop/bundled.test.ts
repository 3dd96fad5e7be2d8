/**
 * A program that a bundler has made one file of, with undici in the file, beside it, and nowhere. The file runs in a folder that has nothing
 * but the undici that was left external.
 */

import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import type { Printed } from '../api/undici/rig.ts'
import { LOADABLE, makeProject } from '../api/undici/rig.ts'
import { lacksPackages } from '../support/clients/packages.ts'
import { inTurn } from '../support/clocks/sample.ts'
import { listen } from '../support/servers/listen.ts'
import { startServer } from '../support/servers/server.ts'
import type { Bundler, Format } from './bundlers.ts'
import { BUNDLERS } from './bundlers.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const names = Object.keys(BUNDLERS) as Bundler[]
const FORMATS: readonly Format[] = ['esm', 'cjs']

/** A real request over HTTP/2, a mock of undici's, an interceptor, and a global dispatcher for both. */
const PROGRAM = `
import { Agent, cacheStores, getGlobalDispatcher, interceptors, MockAgent, ProxyAgent, request, setGlobalDispatcher } from 'dodici/undici'
async function main() {
  const agent = new Agent({ connect: { ca: process.env.CA } })
  const retrying = agent.compose(interceptors.retry())
  const real = await request(process.env.ORIGIN, { dispatcher: retrying })
  console.log(await real.body.text())
  const mock = new MockAgent({ agent })
  setGlobalDispatcher(mock)
  mock.get('https://mocked.test').intercept({ path: '/' }).reply(200, 'a mock')
  console.log(await (await request('https://mocked.test/')).body.text(), getGlobalDispatcher() === mock)
  console.log(typeof new ProxyAgent('http://localhost:1').dispatch, typeof cacheStores.MemoryCacheStore)
  await agent.close()
}
main()`

const PRINTED = 'real\na mock true\nfunction function\n'

/** Says what a name that isn't there says. */
const PROBE = `
import { Agent, ProxyAgent } from 'dodici/undici'
console.log(typeof Agent)
try { new ProxyAgent('http://localhost:1') } catch ({ message, cause }) { console.log([message, cause.code, cause.message.split('\\n')[0]].join('\\n')) }`

function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'dodici-bundled-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** Other code has undici's Agent as the global dispatcher, and Node loads its own undici behind that. */
const FALLBACK = `
import { Agent, getGlobalDispatcher } from 'undici'
import { request } from 'dodici'
console.log(getGlobalDispatcher() instanceof Agent, typeof new Headers())
request(process.env.ORIGIN).then(({ body }) => body.text()).then(console.log, console.log)`

interface Case {
  readonly bundler: Bundler
  readonly format: Format
  readonly isExternal: boolean
  readonly isMinified?: boolean
  readonly source: string
  /** The project to bundle in. */
  readonly project: string
}

/** Bundles a program into a folder without packages. */
async function bundle({ bundler, source, project, ...order }: Case) {
  const { format } = order
  const entry = join(project, 'entry.mjs')
  writeFileSync(entry, source)
  const folder = makeFolder()
  const outfile = join(folder, format === 'esm' ? 'program.mjs' : 'program.cjs')
  const warnings = await BUNDLERS[bundler]({ entry, outfile, ...order })
  return { folder, outfile, warnings }
}

function putUndici(folder: string): void {
  mkdirSync(join(folder, 'node_modules'))
  symlinkSync(join(root, 'node_modules/undici'), join(folder, 'node_modules/undici'))
}

async function run(file: string, env: object = {}): Promise<Printed> {
  return promisify(execFile)(process.execPath, [file], {
    timeout: 120_000,
    env: { PATH: process.env.PATH, NO_COLOR: '1', ...env },
  })
}

async function play(outfile: string): Promise<Printed> {
  const server = await startServer(
    (stream) => {
      stream.respond({ ':status': 200 })
      stream.end('real')
    },
    { tls: true },
  )
  return run(outfile, { ORIGIN: server.origin, CA: server.ca })
}

/** What each bundler makes of each format, and each failure, is told once: they take turns. */
const LACKS_WEBPACK = lacksPackages('user-tools')

function skipWithout(bundler: Bundler): void {
  beforeEach(({ skip }) => skip(LACKS_WEBPACK && bundler === 'webpack'))
}

const toFormats = (bundler: Bundler, turn: number) => inTurn(FORMATS, names.indexOf(bundler) + turn)

describe.each(names)('bundled by %s', (bundler) => {
  skipWithout(bundler)

  it.each(FORMATS)('as %s runs with undici beside it', async (format) => {
    const project = makeProject('undici 7')
    const order = { bundler, format, isExternal: true, source: PROGRAM, project }
    const { folder, outfile, warnings } = await bundle(order)
    expect(warnings.filter((warning) => !/import\.meta/.test(warning))).toEqual([])
    // undici's own text isn't in it.
    expect(readFileSync(outfile, 'utf8')).not.toContain('lib/llhttp')
    putUndici(folder)
    expect(await play(outfile)).toEqual({ stdout: PRINTED, stderr: '' })
  })

  it.each(
    toFormats(bundler, 0),
  )('as %s says that undici is not installed where it is not', async (format) => {
    const project = makeProject(null)
    const { outfile } = await bundle({ bundler, format, isExternal: false, source: PROBE, project })
    const [type, message, code, cause] = (await run(outfile)).stdout.trimEnd().split('\n')
    expect(type).toBe('function')
    expect(message).toBe(
      "ProxyAgent comes from undici, which isn't installed: install undici 6 or 7 or 8 next to dodici (npm install undici)",
    )
    // Vite has looked for it already.
    const isVites = cause?.startsWith('Could not resolve "undici" imported by "dodici".')
    if (!isVites) expect([code, cause]).toEqual(['MODULE_NOT_FOUND', "Cannot find module 'undici'"])
  })

  it.each(toFormats(bundler, 1))('as %s tells any other failure as it is', async (format) => {
    const project = makeProject(null)
    const { folder, outfile } = await bundle({ bundler, format, isExternal: true, source: PROBE, project })
    const undici = join(folder, 'node_modules/undici')
    mkdirSync(undici, { recursive: true })
    writeFileSync(join(undici, 'package.json'), '{ "name": "undici", "version": "8.99.0" }')
    writeFileSync(join(undici, 'index.js'), "require('./lib/gone')")
    const [, message, code, cause] = (await run(outfile)).stdout.trimEnd().split('\n')
    expect(message).toMatch(
      /^ProxyAgent comes from undici, but Node .* can't load .*undici.*: see the cause$/,
    )
    expect([code, cause]).toEqual(['MODULE_NOT_FOUND', "Cannot find module './lib/gone'"])
  })
})

// rollup by itself follows no CommonJS.
describe.each(names.filter((bundler) => bundler !== 'rollup'))('bundled by %s', (bundler) => {
  skipWithout(bundler)

  it.each(toFormats(bundler, 1))('runs with undici in it, as %s', async (format) => {
    const project = makeProject('undici 7')
    const { outfile } = await bundle({ bundler, format, isExternal: false, source: PROGRAM, project })
    expect(await play(outfile)).toEqual({ stdout: PRINTED, stderr: '' })
  })

  describe.each(FORMATS)('as %s', (format) => {
    // Vite makes no library of undici 6: it asks for `buffer` without the prefix.
    const cases = LOADABLE.filter((made) => made !== 'undici 6').flatMap((made) =>
      inTurn([false, true], names.indexOf(bundler) + FORMATS.indexOf(format)).map((isMinified) => ({
        made,
        isMinified,
      })),
    )
    it.each(
      cases,
    )('$made in it, minified: $isMinified › its Agent serves HTTP/1.1, whatever the name of its class', async ({
      made,
      isMinified,
    }) => {
      const server = createServer((_request, response) => void response.end('over HTTP/1.1'))
      onTestFinished(() => void server.close())
      const { port } = await listen(server)
      const project = makeProject(made)
      const order = { bundler, format, isExternal: false, isMinified, source: FALLBACK, project }
      const { outfile } = await bundle(order)
      const { stdout } = await run(outfile, { ORIGIN: `http://127.0.0.1:${port}` })
      expect(stdout).toBe('true object\nover HTTP/1.1\n')
    })
  })
})
