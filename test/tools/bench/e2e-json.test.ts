import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { runNode } from '../../support/clients/child.ts'
import { loadModule } from '../../support/clients/plain-module.ts'
import { inTurn } from '../../support/clocks/sample.ts'

type Init = Readonly<Record<string, unknown>>
type Outcome = readonly [error: unknown, status: number, bytes: number]
type Start = (target: object, done: (...outcome: Outcome) => void) => void
type FetchLike = (url: string, init: Init) => Promise<Response>

interface FetchShapeModule {
  toFetchStart(fetch: FetchLike, extra?: object): Start
}

interface JsonDocumentModule {
  toJsonDocument(bytes: number): { bytes: number; users: readonly object[] }
}

interface Result {
  readonly scenarios: readonly {
    readonly entries: readonly { readonly client: string; readonly api: string }[]
  }[]
}

const { toFetchStart } = await loadModule<FetchShapeModule>('bench/e2e/clients/shapes.mjs')
const { toJsonDocument } = await loadModule<JsonDocumentModule>('bench/e2e/json-document.mjs')

const script = fileURLToPath(new URL('../../../bench/e2e/run.mjs', import.meta.url))
const url = 'http://127.0.0.1/1024.json'

let folder = ''

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'dodici-bench-json-'))
})

afterAll(() => rm(folder, { recursive: true, force: true }))

/** What one request tells the load, and what it gave to fetch(). */
async function ask(body: Buffer | null, response: string): Promise<{ outcome: Outcome; init: Init }> {
  let init: Init = {}
  const start = toFetchStart(async (_, given) => {
    init = given
    return new Response(response)
  })
  const target = { url, path: '/1024.json', method: body === null ? 'GET' : 'POST', body }
  const outcome = await new Promise<Outcome>((resolve) => start(target, (...told) => resolve(told)))
  return { outcome, init }
}

const bench = (...args: string[]) =>
  runNode(script, '--rounds', '1', '--requests', '40', '--warmup', '20', '--results', folder, ...args)

describe('the JSON document of a size', () => {
  it.each([100, 1023, 1024, 65_536])('has a text of %i bytes, and says so', (bytes) => {
    const document = toJsonDocument(bytes)
    expect(Buffer.byteLength(JSON.stringify(document))).toBe(bytes)
    expect(document.bytes).toBe(bytes)
  })

  it('is mostly a list of objects', () => {
    const { users } = toJsonDocument(1024)
    expect(JSON.stringify(users).length).toBeGreaterThan(900)
  })

  it('does not exist for a size that is too small', () => {
    expect(() => toJsonDocument(20)).toThrow('no document has 20 bytes')
  })
})

describe('fetch() of a path that ends in .json', () => {
  it('sends nothing with a GET, and tells the size by what json() gave', async () => {
    const { outcome, init } = await ask(null, JSON.stringify(toJsonDocument(1024)))
    expect(outcome).toEqual([null, 200, 1024])
    expect(init).toEqual({ method: 'GET', headers: { accept: 'application/json', 'user-agent': 'bench' } })
  })

  it('sends the text of the document with a POST, as JSON', async () => {
    const { outcome, init } = await ask(Buffer.alloc(1024), JSON.stringify(toJsonDocument(1024)))
    expect(outcome).toEqual([null, 200, 1024])
    expect(init).toMatchObject({ method: 'POST', body: JSON.stringify(toJsonDocument(1024)) })
    expect(init.headers).toMatchObject({ 'content-type': 'application/json' })
  })

  it.each([
    { what: 'JSON of another size', response: JSON.stringify(toJsonDocument(512)), bytes: 512 },
    { what: 'another object', response: '{"users":[]}', bytes: Number.NaN },
    { what: 'null', response: 'null', bytes: Number.NaN },
    { what: 'a number', response: '1024', bytes: Number.NaN },
  ])('tells another size when the response is $what', async ({ response, bytes }) => {
    expect((await ask(null, response)).outcome).toEqual([null, 200, bytes])
  })

  it('tells the error when the response is no JSON', async () => {
    expect((await ask(null, 'a'.repeat(1024))).outcome).toEqual([expect.any(SyntaxError), 0, 0])
  })
})

describe('a run of the scenarios with JSON', () => {
  // By itself a run takes nghttpd, where it is installed.
  const servers = [[], ['--server', 'node']]
  const cases = [
    { scenario: 'get-1k-json', said: 'GET, 1,024 bytes, 100' },
    { scenario: 'post-1k-json', said: 'POST, 1,024 bytes there and back, 100' },
  ].flatMap((scenario, turn) => inTurn(servers, turn).map((server) => ({ ...scenario, server })))
  it.each(cases)('measures every fetch() by $scenario with $server', async ({ scenario, server, said }) => {
    const clients = 'dodici,node-http2,node-fetch-h2,node-fetch,axios,fetch-h2'
    const { code, stdout } = await bench('--scenario', scenario, '--clients', clients, ...server)
    expect(code).toBe(0)
    const result: Result = JSON.parse(await readFile(join(folder, 'latest.json'), 'utf8'))
    const measured = result.scenarios.flatMap(({ entries }) => entries)
    expect(measured.map(({ client, api }) => `${client} ${api}`)).toEqual([
      ...['dodici fetch', 'node-http2 session.request', 'node-fetch-h2 fetch', 'node-fetch fetch'],
      'fetch-h2 fetch',
    ])
    expect(stdout).toContain(`${scenario}: ${said} in flight, one connection, h2c`)
  })
})
