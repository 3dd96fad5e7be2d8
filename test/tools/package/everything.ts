// A project that uses everything of `dodici` and `dodici/undici`. Type-checked against undici 6, 7 and 8; never run.
import type { Duplex } from 'node:stream'
import { PassThrough } from 'node:stream'
import * as dodici from 'dodici'
import type { Cookie, HeadersInit, RequestInit, Response } from 'dodici/undici'
import undici, {
  Agent,
  BalancedPool,
  buildConnector,
  Client,
  connect,
  DecoratorHandler,
  Dispatcher,
  EnvHttpProxyAgent,
  errors,
  FormData,
  fetch,
  getCookies,
  getGlobalDispatcher,
  getGlobalOrigin,
  Headers,
  interceptors,
  MockAgent,
  MockClient,
  MockPool,
  mockErrors,
  Pool,
  ProxyAgent,
  parseMIMEType,
  pipeline,
  Request,
  RetryAgent,
  RetryHandler,
  request,
  setCookie,
  setGlobalDispatcher,
  setGlobalOrigin,
  stream,
  upgrade,
  WebSocket,
} from 'dodici/undici'
import type { Dispatcher as UndiciDispatcher } from 'undici'

const url = 'https://example.com'
const agent: Agent = new Agent({ connections: 2, engine: 'wire', maxResponseSize: 1_000 })
const options: Client.Options = { keepAliveTimeout: 1_000, pipelining: 10, allowH2: true, h2c: false }
const client: Client = new Client(url, { ...options, connect: buildConnector({ allowH2: true }) })
const poolOptions: Pool.Options = { connections: null }
const agentOptions: Agent.Options = { maxOrigins: 5 }
export const made = [
  new Client(url, { allowH2: false }),
  new Pool(url, poolOptions),
  new Agent(agentOptions),
  client.stats.sessions,
  agent.stats,
]

// undici's own, over ours and the other way round.
const mock = new MockAgent({ agent })
mock.get(url).intercept({ path: '/' }).reply(200, 'text')
const retry = new RetryAgent(client, { maxRetries: 1 })
const proxy = new ProxyAgent('http://proxy.example:8080')
const balanced = new BalancedPool([url], { factory: (origin, given) => new Pool(origin, given) })
for (const each of [mock, retry, proxy, balanced, new EnvHttpProxyAgent(), agent, client])
  setGlobalDispatcher(each)
export const theirs: UndiciDispatcher[] = [agent, client, getGlobalDispatcher(), new dodici.Agent()]
export const socket = new WebSocket('wss://example.com', { dispatcher: agent })
export const handler = new RetryHandler(
  { path: '/', method: 'GET' },
  { dispatch: (given, to) => client.dispatch(given, to), handler: {} },
)
export class Counting extends DecoratorHandler {}
export const types = [MockClient, MockPool, mockErrors.MockNotMatchedError, parseMIMEType('text/html')]

// Namespaces.
export async function use(dispatcher: Dispatcher, given: Dispatcher.RequestOptions): Promise<Dispatcher> {
  const own: Dispatcher.DispatcherComposeInterceptor = (dispatch) => (sent, to) =>
    dispatch({ ...sent, reset: true }, to)
  const data: Dispatcher.ResponseData = await dispatcher.request(given)
  const mixin: Dispatcher.BodyMixin = data.body
  await mixin.text()
  return dispatcher.compose(own).compose([own, own])
}
export const composed: Dispatcher = client.compose(
  interceptors.retry(),
  interceptors.redirect({ maxRedirections: 3 }),
)
export class Mine extends Dispatcher {
  override get closed(): boolean {
    return false
  }
  override get destroyed(): boolean {
    return false
  }
  override dispatch(_options: Dispatcher.DispatchOptions, _handler: Dispatcher.DispatchHandler): boolean {
    return true
  }
  override close(): Promise<void>
  override close(callback: () => void): void
  override close(callback?: unknown): unknown {
    return callback
  }
  override destroy(): Promise<void>
  override destroy(error: Error | null): Promise<void>
  override destroy(callback: () => void): void
  override destroy(error: Error | null, callback: () => void): void
  override destroy(error?: unknown, callback?: unknown): unknown {
    return [error, callback]
  }
}

// What comes back.
export async function respond(form: 'raw' | null): Promise<unknown[]> {
  const plain = await request(url, { dispatcher: retry, opaque: 5 })
  const field: string | string[] | undefined = plain.headers.a
  const sum: number = plain.opaque + plain.statusCode
  const raw = await client.request({ path: '/', method: 'GET', responseHeaders: 'raw' })
  const list: string[] = raw.headers
  const trailers: string[] = raw.trailers
  const parts: Promise<FormData> = raw.body.formData()
  const reader = raw.body.body.getReader()
  const either = await client.request({ path: '/', method: 'GET', responseHeaders: form })
  const names = Array.isArray(either.headers) ? either.headers : Object.keys(either.headers)
  const streamed = await stream(
    url,
    { responseHeaders: 'raw' },
    ({ headers }) => new PassThrough({ highWaterMark: headers.length }),
  )
  const duplex: Duplex = pipeline(url, { responseHeaders: 'raw' }, ({ headers, body }) =>
    headers.at(0) === 'a' ? body : body.resume(),
  )
  const tunnel = await connect(url, { responseHeaders: 'raw' })
  const spoken = await upgrade(url, { protocol: 'websocket' })
  const method: (given: Dispatcher.RequestOptions) => Promise<Dispatcher.ResponseData> = (given) =>
    client.request(given)
  type Result = Awaited<ReturnType<Client['request']>>
  const kept: Result['headers'] = plain.headers
  return [
    field,
    sum,
    list,
    trailers,
    parts,
    reader,
    names,
    streamed.trailers.at(0),
    duplex,
    tunnel.headers.at(0),
    spoken.headers.a,
    method,
    kept,
  ]
}

// Errors: the code is the literal of the class.
export function tell(error: unknown): string {
  if (error instanceof errors.BodyTimeoutError) {
    const code: 'UND_ERR_BODY_TIMEOUT' = error.code
    return code
  }
  if (error instanceof errors.DodiciError) return `${error.code} ${error.processed} ${error.attempts}`
  if (error instanceof errors.UndiciError) return error.code
  return String(error)
}

// Fetch.
const headers: Headers = new Headers({ a: 'b' })
const cookie: Cookie = { name: 'a', value: 'b' }
setCookie(headers, cookie)
const init: RequestInit = { dispatcher: agent, headers: [['a', 'b']] satisfies HeadersInit }
setGlobalOrigin(url)
const fetched: Response = await fetch(new Request(url), {
  method: 'POST',
  body: new FormData(),
  dispatcher: mock,
})
await fetch(url, { ...init, body: 'x' })
export const told = [
  getCookies(fetched.headers),
  getGlobalOrigin()?.origin,
  undici.request(url),
  undici.Agent === Agent,
]
dodici.install(agent)
dodici.uninstall()

// @ts-expect-error: an origin is no number
export const wrong = new Client(1)
// @ts-expect-error: a declaration that lost its types would let it pass
export const noOption = await request(url, { headersTimeot: 1 })
