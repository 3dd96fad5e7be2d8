/**
 * Fetches with the classes of an undici in the place of Node's own, and reports what other code reads of the Responses.
 */
import { Agent, fetch } from '../../../src/index.ts'
import { listenPeer } from '../../support/peers/peer.ts'
import { report } from './report.ts'

/** The members that undici 6, 7 and 8 share. */
interface Undici {
  readonly Response: typeof Response
  readonly Headers: typeof Headers
  readonly Request: typeof Request
  readonly FormData: typeof FormData
  readonly caches: {
    open(name: string): Promise<{
      put(url: string, response: Response): Promise<void>
      match(url: string): Promise<Response | undefined>
    }>
  }
}

const [location = '', order = ''] = process.argv.slice(2)
const undici = (await import(location)) as Undici
const own = { Response, Headers }
const peer = await listenPeer({
  onRequest(stream) {
    stream.head(200, [['content-type', 'text/plain']])
    stream.end(stream.path)
  },
})
const agent = new Agent({ h2c: true })

function get(path: string): Promise<Response> {
  return fetch(`${peer.origin}${path}`, { dispatcher: agent })
}

async function toText(path: string, read: (response: Response) => unknown): Promise<unknown> {
  const response = await get(path)
  try {
    return await read(response)
  } catch (error) {
    return error instanceof Error ? error.name : error
  }
}

const before = order === 'after' ? await get('/before') : null
const { Response: TheirResponse, Headers: TheirHeaders } = undici
Object.assign(globalThis, {
  Response: TheirResponse,
  Headers: TheirHeaders,
  Request: undici.Request,
  FormData: undici.FormData,
})
const response = await get('/after')

/** Where undici 6 has its state. */
function toState(one: Response): unknown {
  const symbol = Object.getOwnPropertySymbols(new TheirResponse()).find(
    ({ description }) => description === 'state',
  )
  return symbol === undefined ? undefined : Reflect.get(one, symbol)
}

async function putAndMatch(one: Response, url: string): Promise<string> {
  const cache = await undici.caches.open('cache')
  await cache.put(url, one)
  return (await cache.match(url))?.text() ?? 'nothing'
}

const state = toState(response) as { status: number; body: { stream: unknown } } | undefined
report({
  isTheirs: response instanceof TheirResponse && response instanceof globalThis.Response,
  isSubclassOfOurs: response instanceof own.Response,
  constructor: response.constructor === TheirResponse,
  // It stays what it was.
  before: before === null ? null : before instanceof own.Response && !(before instanceof TheirResponse),
  beforeText: before === null ? null : await before.text(),
  headers: response.headers instanceof TheirHeaders,
  state: state === undefined ? null : { status: state.status, isBody: state.body.stream === response.body },
  text: await toText('/text', (one) => one.text()),
  blob: await toText('/blob', async (one) => (await one.blob()).type),
  clone: await toText('/clone', (one) => one.clone().text()),
  again: await toText('/again', (one) => new TheirResponse(one.body, one).text()),
  theirText: await toText('/their-text', (one) => TheirResponse.prototype.text.call(one)),
  theirClone: await toText('/their-clone', (one) => TheirResponse.prototype.clone.call(one).text()),
  cache: await toText('/cache', (one) => putAndMatch(one, `${peer.origin}/cache`)),
  cacheOfRead: await toText('/read', async (one) => {
    await one.text()
    return putAndMatch(one, `${peer.origin}/read`)
  }),
  response: await response.text(),
})
await agent.destroy()
await peer.close()
