import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { fetch } from '../../../src/index.ts'
import { runNode } from '../../support/clients/child.ts'
import { FakeDispatcher } from '../../support/clients/fake-dispatcher.ts'
import { startOrigin, toFailure } from './request-rig.ts'

const source = fileURLToPath(new URL('../../../src/index.ts', import.meta.url))
let folder = ''
let scripts = 0

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'dodici-global-'))
  for (const [format, extension] of [
    ['esm', '.mjs'],
    ['cjs', '.cjs'],
  ] as const) {
    await build({
      entryPoints: [{ in: source, out: 'dodici' }],
      outdir: folder,
      outExtension: { '.js': extension },
      bundle: true,
      format,
      platform: 'node',
      target: 'node20',
    })
  }
})

afterAll(() => rm(folder, { recursive: true, force: true }))

const ESM = "(await import('./dodici.mjs'))"
const CJS = "process.getBuiltinModule('node:module').createRequire(import.meta.url)('./dodici.cjs')"

/** Runs a script in a process of its own, and returns what it prints, as JSON. */
async function run(body: string, ...args: string[]): Promise<unknown> {
  const path = join(folder, `script-${++scripts}.mjs`)
  await writeFile(path, body)
  const { code, stdout, stderr } = await runNode(path, ...args)
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  return JSON.parse(stdout)
}

describe('when globalThis.fetch is ours', () => {
  const TALK = `
    const [, , origin] = process.argv
    const text = async (url, init) => (await globalThis.fetch(url, init)).text()
    const blob = URL.createObjectURL(new Blob(['a blob']))
    const said = {
      http: await text(origin + '/path'),
      request: await text(new Request(origin + '/request', { method: 'POST', body: 'x' })),
      data: await text('data:text/plain,some%20data'),
      dataRequest: await text(new Request('data:,more'), { dispatcher: null }),
      blob: await text(blob),
      other: await text('ftp://localhost/').catch((error) => error.message + ': ' + error.cause.message),
      isResponse: (await globalThis.fetch('data:,')) instanceof Response,
    }
    console.log(JSON.stringify(said))`

  const SAID = {
    http: '/path',
    request: '/request',
    data: 'some data',
    dataRequest: 'more',
    blob: 'a blob',
    other: 'fetch failed: unknown scheme ftp:',
    isResponse: true,
  }

  it.each([
    ['the ESM build', `globalThis.fetch = ${ESM}.fetch`],
    ['the CJS build', `globalThis.fetch = ${CJS}.fetch`],
    ['one after the other', `globalThis.fetch = ${ESM}.fetch; globalThis.fetch = ${CJS}.fetch`],
    ['the same twice', `const { fetch } = ${ESM}; globalThis.fetch = fetch; globalThis.fetch = fetch`],
  ])('serves HTTP, data: and blob: by %s', async (_what, install) => {
    const server = await startOrigin('HTTP/1.1')
    expect(await run(`${install}\n${TALK}`, server.origin)).toEqual(SAID)
    expect(server.seen.map(({ method, path, body }) => [method, path, body])).toEqual([
      ['GET', '/path', ''],
      ['POST', '/request', 'x'],
    ])
  })

  it('serves a fetch with a dispatcher by install() as well', async () => {
    const server = await startOrigin('HTTP/1.1')
    const install = `const dodici = ${ESM}; dodici.install(); globalThis.fetch = dodici.fetch`
    expect(await run(`${install}\n${TALK}`, server.origin)).toEqual(SAID)
  })
})

describe('when the package is imported', () => {
  it.each([
    ['the ESM build', ESM],
    ['the CJS build', CJS],
  ])('changes nothing global, and loads nothing, by %s', async (_what, load) => {
    const script = `
      const isLoaded = () => process.moduleLoadList.some((name) => name.includes('deps/undici/undici'))
      const before = Reflect.ownKeys(globalThis).map(String)
      const { get, value } = Reflect.getOwnPropertyDescriptor(globalThis, 'fetch')
      const dodici = ${load}
      const now = Reflect.getOwnPropertyDescriptor(globalThis, 'fetch')
      console.log(JSON.stringify({
        isFunction: typeof dodici.fetch,
        added: Reflect.ownKeys(globalThis).map(String).filter((key) => !before.includes(key)),
        isSameFetch: now.get === get && now.value === value,
        isLoaded: isLoaded(),
      }))`
    expect(await run(script)).toEqual({
      isFunction: 'function',
      added: [],
      isSameFetch: true,
      isLoaded: false,
    })
  })
})

describe('when a URL is not of HTTP', () => {
  it('leaves data: and blob: to Node, whatever dispatcher is given', async () => {
    const dispatcher = new FakeDispatcher()
    const url = URL.createObjectURL(new Blob(['a blob'], { type: 'x/y' }))
    onTestFinished(() => URL.revokeObjectURL(url))
    const blob = await fetch(url, { dispatcher })
    expect([blob.headers.get('content-type'), await blob.text()]).toEqual(['x/y', 'a blob'])
    const data = await fetch(new URL('data:text/x;base64,aGk='), { dispatcher })
    expect([data.headers.get('content-type'), await data.text()]).toEqual(['text/x', 'hi'])
    expect(dispatcher.requests).toEqual([])
  })

  it('passes on the members of the init', async () => {
    const reason = new Error('enough')
    await expect(fetch('data:,x', { signal: AbortSignal.abort(reason) })).rejects.toBe(reason)
    expect(await (await fetch('data:,x', { method: 'HEAD' })).text()).toBe('')
    await expect(fetch('data:,x', { integrity: 'sha256-AAAA' })).rejects.toThrow('fetch failed')
  })

  it.each([
    'ftp://localhost/',
    'file:///etc/hostname',
    'ws://localhost/',
    'javascript:1',
  ])('is a network error for %s', async (url) => {
    expect(await toFailure(fetch(url))).toBe(
      `TypeError: fetch failed ← unknown scheme ${new URL(url).protocol}`,
    )
  })

  it('is a network error for about:blank, in the words of undici', async () => {
    expect(await toFailure(fetch('about:blank'))).toBe(
      'TypeError: fetch failed ← about scheme is not supported',
    )
  })
})
