import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { BuildOptions } from 'esbuild'
import { build } from 'esbuild'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { Agent, Client, errors, getGlobalDispatcher, request, setGlobalDispatcher } from '../../src/index.ts'
import { destroyWithTest } from '../support/clients/agents.ts'
import { runNode } from '../support/clients/child.ts'
import { listen } from '../support/servers/listen.ts'
import { serveHello, startServer } from '../support/servers/server.ts'

/** Both builds in one process, as when two dependencies load the package in different ways. */
const CHILD = `
import { createRequire } from 'node:module'
const esm = await import('./index.mjs')
const cjs = createRequire(import.meta.url)('./index.cjs')
const ours = Symbol.for('dodici.globalDispatcher.1')
const undici = ['undici.globalDispatcher.1', 'undici.globalDispatcher.2'].map((name) => Symbol.for(name))
const isSetByImport = ours in globalThis
const first = esm.getGlobalDispatcher()
const isShared = first === cjs.getGlobalDispatcher()
const client = new cjs.Client(process.argv[2])
cjs.setGlobalDispatcher(client)
const isReplaced = esm.getGlobalDispatcher() === client
const { body } = await esm.request(process.argv[2])
const text = await body.text()
const error = await esm.request(process.argv[2], { method: 'no method' }).catch((thrown) => thrown)
await client.close()
console.log(JSON.stringify({
  areTwo: esm.Client !== cjs.Client,
  isSetByImport,
  isShared,
  isReplaced,
  isFirstOpen: first.closed === false,
  text,
  areErrorsKnown: [error instanceof esm.errors.InvalidArgumentError, error instanceof cjs.errors.InvalidArgumentError],
  isEnumerable: Object.getOwnPropertyDescriptor(globalThis, ours).enumerable,
  undici: undici.filter((key) => key in globalThis).length,
}))
`

let folder = ''

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'dodici-global-'))
  const entry = fileURLToPath(new URL('../../src/index.ts', import.meta.url))
  const common: BuildOptions = { entryPoints: [entry], bundle: true, platform: 'node', target: 'node20' }
  await Promise.all([
    build({ ...common, format: 'esm', outfile: join(folder, 'index.mjs') }),
    build({ ...common, format: 'cjs', outfile: join(folder, 'index.cjs') }),
    writeFile(join(folder, 'child.mjs'), CHILD),
  ])
})

afterAll(() => rm(folder, { recursive: true, force: true }))

async function startHello() {
  return startServer(serveHello)
}

/** A server that speaks no HTTP/2. */
async function startHttp1(): Promise<string> {
  const server = createServer((request, response) => response.end(`hello by ${request.httpVersion}`))
  const { port } = await listen(server)
  return `http://127.0.0.1:${port}`
}

/** Restores the dispatchers that were there. */
function keepGlobal(): void {
  const before = getGlobalDispatcher()
  onTestFinished(() => setGlobalDispatcher(before))
}

describe('the global dispatcher', () => {
  it('is an Agent that speaks HTTP/1.1 with http: origins, the same each time', async () => {
    const dispatcher = getGlobalDispatcher()
    expect(dispatcher).toBeInstanceOf(Agent)
    expect(getGlobalDispatcher()).toBe(dispatcher)
    expect(await (await request(await startHttp1())).body.text()).toBe('hello by 1.1')
  })

  it('can be replaced, also by a composed one, and the previous one stays open', async () => {
    keepGlobal()
    const { origin } = await startHello()
    const before = getGlobalDispatcher()
    const client = destroyWithTest(new Client(origin))
    const composed = client.compose()
    setGlobalDispatcher(composed)
    expect(getGlobalDispatcher()).toBe(composed)
    expect(await (await request(origin)).body.text()).toBe('hello')
    expect(client.stats.connected).toBe(true)
    const { body } = await before.request({ origin: await startHttp1(), path: '/', method: 'GET' })
    expect(await body.text()).toBe('hello by 1.1')
  })

  it.each([
    { what: 'nothing', value: undefined },
    { what: 'null', value: null },
    { what: 'an object without dispatch()', value: {} },
    { what: 'a function', value: () => true },
  ])('refuses to be $what', ({ value }) => {
    const before = getGlobalDispatcher()
    expect(() => setGlobalDispatcher(value as never)).toThrow(errors.InvalidArgumentError)
    expect(() => setGlobalDispatcher(value as never)).toThrow('dispatcher')
    expect(getGlobalDispatcher()).toBe(before)
  })

  it("isn't Node's", () => {
    keepGlobal()
    const key = Symbol.for('undici.globalDispatcher.1')
    const before = Object.getOwnPropertyDescriptor(globalThis, key)
    setGlobalDispatcher(new Agent())
    expect(Object.getOwnPropertyDescriptor(globalThis, key)).toEqual(before)
  })

  it('is shared by the ESM and the CJS build, and importing either makes none', async () => {
    const { origin, sessions } = await startHello()
    const { code, stdout, stderr } = await runNode(join(folder, 'child.mjs'), origin)
    expect([stderr, code]).toEqual(['', 0])
    expect(JSON.parse(stdout)).toEqual({
      areTwo: true,
      isSetByImport: false,
      isShared: true,
      isReplaced: true,
      isFirstOpen: true,
      text: 'hello',
      areErrorsKnown: [true, true],
      isEnumerable: false,
      undici: 0,
    })
    expect(sessions).toHaveLength(1)
  })
})
