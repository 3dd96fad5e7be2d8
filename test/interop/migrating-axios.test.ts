/** What changes when axios moves from its own `http` adapter to its `fetch` adapter over Dodici: docs/migrating-axios.md. */

import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2'
import { createSecureServer } from 'node:http2'
import { Agent as HttpsAgent } from 'node:https'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import { PassThrough, Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import type { AxiosInstance, AxiosRequestConfig } from 'axios'
import axios from 'axios'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Agent, fetch } from '../../src/index.ts'
import { toCertificate } from '../support/servers/server.ts'

/** What is used of the package `form-data`, which axios brings. */
interface PackageForm {
  append(name: string, value: string): void
  getHeaders(): Record<string, string>
  pipe<T extends NodeJS.WritableStream>(to: T): T
}

const FormDataPackage: new () => PackageForm = createRequire(createRequire(import.meta.url).resolve('axios'))(
  'form-data',
)

const PAGE = readFileSync(fileURLToPath(new URL('../../docs/migrating-axios.md', import.meta.url)), 'utf8')

async function respond(request: Http2ServerRequest, response: Http2ServerResponse): Promise<void> {
  const path = String(request.url)
  const body = Buffer.concat(await request.toArray())
  if (path === '/redirect') response.writeHead(302, { location: '/json' })
  if (path === '/loop') response.writeHead(302, { location: '/loop' })
  if (path === '/lost') return (response.stream?.session ?? request.socket).destroy() as undefined
  if (path === '/silent') return
  if (path === '/cut') {
    response.setHeader('content-length', 100)
    response.write('part')
    if (response.stream) response.stream.close(2)
    else response.socket.destroySoon()
    return
  }
  if (path === '/cookies') response.setHeader('set-cookie', ['a=1', 'b=2'])
  if (path === '/gzip') response.setHeader('content-encoding', 'gzip')
  const type = String(request.headers['content-type']).replace(/;.*/, '')
  if (path === '/type') response.end(`${type}: ${isForm(body) ? 'a form' : body}`)
  else response.end(path === '/gzip' ? gzipSync('text') : '{}')
}

const isForm = (body: Buffer): boolean => body.includes('form-data; name="a"')

const scene: { origin: string; close(): void; dispatcher: Agent; httpsAgent: HttpsAgent } = {
  ...{ origin: '', close: () => {} },
  dispatcher: new Agent(),
  httpsAgent: new HttpsAgent(),
}

beforeAll(async () => {
  const { private: key, cert } = await toCertificate()
  const server = createSecureServer({ key, cert, allowHTTP1: true }, (request, response) => {
    void respond(request, response)
  })
  server.on('sessionError', () => {})
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  scene.origin = `https://localhost:${(server.address() as AddressInfo).port}`
  scene.dispatcher = new Agent({ connect: { ca: cert } })
  scene.httpsAgent = new HttpsAgent({ ca: cert })
  scene.close = () => server.close()
})

afterAll(async () => {
  scene.close()
  scene.httpsAgent.destroy()
  await scene.dispatcher.destroy()
})

type Adapter = 'http' | 'fetch'

function toAxios(adapter: Adapter, more: AxiosRequestConfig = {}): AxiosInstance {
  const { origin: baseURL, dispatcher, httpsAgent } = scene
  if (adapter === 'http') return axios.create({ baseURL, httpsAgent, ...more })
  const given = (input: URL | Request | string, init?: RequestInit): Promise<Response> =>
    fetch(input, { ...init, dispatcher })
  return axios.create({ baseURL, adapter, ...more, env: { fetch: given, ...more.env } })
}

const toForm = (): FormData => {
  const form = new FormData()
  form.append('a', '1')
  return form
}

const toPackageForm = (): PackageForm => {
  const form = new FormDataPackage()
  form.append('a', '1')
  return form
}

/** Names in an error what a caller can look at. */
const toCodes = (error: { code?: string; cause?: { code?: string; cause?: { code?: string } } }) => [
  error.code,
  error.cause?.code,
  error.cause?.cause?.code,
]

const failOf = (call: Promise<unknown>) =>
  call.then(
    () => 'no failure',
    (error) => toCodes(error),
  )

interface Row {
  /** The first cell of the row. */
  readonly row: string
  run(api: AxiosInstance): Promise<unknown>
  readonly http: unknown
  readonly fetch: unknown
}

const HTTP_FORM = 'multipart/form-data: a form'

/** Each row of the table, as both adapters have it. */
const ROWS: readonly Row[] = [
  {
    row: "Node's `FormData` as `data`",
    run: async (api) => (await api.post('/type', toForm())).data,
    http: HTTP_FORM,
    fetch: 'application/x-www-form-urlencoded: a form',
  },
  {
    row: 'a form of the `form-data` package as `data`',
    run: async (api) => (await api.post('/type', toPackageForm())).data,
    http: HTTP_FORM,
    fetch: 'multipart/form-data: [object FormData]',
  },
  {
    row: '`postForm()`',
    run: async (api) => (await api.postForm('/type', { a: 1 })).data,
    http: HTTP_FORM,
    fetch: 'multipart/form-data: [object FormData]',
  },
  {
    row: 'a web stream as `data`',
    run: async (api) => {
      const options = { headers: { 'content-type': 'text/plain' } }
      const call = api.post('/type', new Blob(['web']).stream(), options)
      return await call.then(
        ({ data }) => data,
        (error) => error.code,
      )
    },
    http: 'ERR_BAD_REQUEST',
    fetch: 'text/plain: web',
  },
  {
    row: '`data` with GET',
    run: async (api) =>
      await api.get('/type', { data: 'x', headers: { 'content-type': 'text/plain' } }).then(
        ({ data }) => data,
        (error) => error.name,
      ),
    http: 'text/plain: x',
    fetch: 'TypeError',
  },
  {
    row: "`responseType: 'stream'`",
    run: async (api) => {
      const { data } = await api.get('/json', { responseType: 'stream' })
      const stream = data instanceof ReadableStream ? Readable.fromWeb(data as never) : data
      return [data instanceof Readable, Buffer.concat(await stream.toArray()).toString()]
    },
    http: [true, '{}'],
    fetch: [false, '{}'],
  },
  {
    row: "`responseType: 'arraybuffer'`",
    run: async (api) => {
      const { data } = await api.get('/json', { responseType: 'arraybuffer' })
      return [Buffer.isBuffer(data), Buffer.from(data).toString()]
    },
    http: [true, '{}'],
    fetch: [false, '{}'],
  },
  {
    row: 'a failed connection',
    run: (api) => failOf(axios.get('https://nowhere.invalid/', { ...api.defaults } as AxiosRequestConfig)),
    http: ['ENOTFOUND', 'ENOTFOUND', undefined],
    fetch: ['ERR_NETWORK', 'ENOTFOUND', 'ENOTFOUND'],
  },
  {
    row: 'a lost connection',
    run: (api) => failOf(api.post('/lost')),
    http: ['ECONNRESET', 'ECONNRESET', undefined],
    fetch: ['ERR_NETWORK', 'UND_ERR_SOCKET', undefined],
  },
  {
    row: 'a response body that breaks off',
    run: (api) => failOf(api.get('/cut')),
    http: ['ERR_BAD_RESPONSE', undefined, undefined],
    fetch: [undefined, undefined, 'DODICI_ERR_STREAM'],
  },
  {
    row: '`timeout`',
    run: async (api) => [
      await failOf(api.get('/silent', { timeout: 50 })),
      await failOf(api.get('/silent', { timeout: 50, transitional: { clarifyTimeoutError: true } })),
    ],
    http: [
      ['ECONNABORTED', undefined, undefined],
      ['ETIMEDOUT', undefined, undefined],
    ],
    fetch: [
      ['ETIMEDOUT', undefined, undefined],
      ['ETIMEDOUT', undefined, undefined],
    ],
  },
  {
    row: 'too many redirects',
    run: async (api) => (await failOf(api.get('/loop')))[0],
    http: 'ERR_FR_TOO_MANY_REDIRECTS',
    fetch: 'ERR_NETWORK',
  },
  {
    row: '`response.request`',
    run: async (api) => {
      const { request } = await api.get('/redirect')
      const url = request.res?.responseUrl ?? request.url
      return [request instanceof Request, url.replace(scene.origin, '')]
    },
    http: [false, '/json'],
    fetch: [true, '/redirect'],
  },
  {
    row: '`response.statusText`',
    run: async (api) => (await api.get('/json')).statusText,
    http: 'OK',
    fetch: '',
  },
  {
    row: '`content-encoding` of a decompressed response',
    run: async (api) => {
      const { data, headers } = await api.get('/gzip')
      return [data, headers['content-encoding']]
    },
    http: ['text', undefined],
    fetch: ['text', 'gzip'],
  },
  {
    row: '`set-cookie`',
    run: async (api) => (await api.get('/cookies')).headers['set-cookie'],
    http: ['a=1', 'b=2'],
    fetch: ['a=1', 'b=2'],
  },
]

describe('axios: what changes', () => {
  it('is what docs/migrating-axios.md lists', () => {
    const [, table = ''] = /^## What changes$(.*?)^## /ms.exec(PAGE) ?? []
    const cells = [...table.matchAll(/^\| ([^|]+) \|/gm)].map(([, cell]) => cell)
    expect(cells.filter((cell) => cell !== '---')).toEqual(ROWS.map(({ row }) => row))
  })

  it.each(ROWS)('$row', async ({ run, http, fetch: ours }) => {
    expect(await run(toAxios('http'))).toEqual(http)
    expect(await run(toAxios('fetch'))).toEqual(ours)
  })
})

describe('axios over Dodici: what to do', () => {
  it('the header content-type makes a form of a FormData', async () => {
    const headers = { 'content-type': 'multipart/form-data' }
    expect((await toAxios('fetch').post('/type', toForm(), { headers })).data).toBe(HTTP_FORM)
  })

  it("a form of the package is sent through a PassThrough, with the form's headers", async () => {
    const form = toPackageForm()
    const options = { headers: form.getHeaders() }
    const { data } = await toAxios('fetch').post('/type', form.pipe(new PassThrough()), options)
    expect(data).toBe(HTTP_FORM)
  })

  it("env.FormData is the class that postForm() uses: Node's", async () => {
    const api = toAxios('fetch', { env: { FormData } })
    expect((await api.postForm('/type', { a: 1 })).data).toBe(HTTP_FORM)
  })
})

/** Options without effect on the fetch adapter, as the page says. Each would fail or be called on the other one. */
describe('axios over Dodici: options without effect', () => {
  it.each<[string, AxiosRequestConfig]>([
    ['proxy', { proxy: { host: 'localhost', port: 1 } }],
    ['socketPath', { socketPath: '/nowhere.sock' }],
    ['httpsAgent', { httpsAgent: null }],
    ['maxRedirects', { url: '/redirect', maxRedirects: 1 }],
    ['httpVersion', { httpVersion: 1 }],
  ])('%s', async (_, config) => {
    expect((await toAxios('fetch').request({ url: '/json', ...config })).status).toBe(200)
  })

  it('maxRedirects: 0 shows the redirect', async () => {
    const options = { maxRedirects: 0, validateStatus: null }
    expect((await toAxios('fetch').get('/redirect', options)).status).toBe(302)
  })

  it('beforeRedirect and lookup are not called', async () => {
    const called: string[] = []
    await toAxios('fetch').get('/redirect', {
      beforeRedirect: () => called.push('beforeRedirect'),
      lookup: () => {
        called.push('lookup')
        return Promise.resolve('127.0.0.1')
      },
    })
    expect(called).toEqual([])
  })

  it('decompress: false and responseEncoding leave the text as it is', async () => {
    const options: AxiosRequestConfig = { decompress: false, responseEncoding: 'hex' }
    expect((await toAxios('fetch').get('/gzip', options)).data).toBe('text')
  })
})
