// The cases that CASES names, each with its addresses, with a version of undici that has what they are about.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import * as undici from 'dodici/undici'

const { CA, CASES } = process.env
/** The servers of the case that runs. */
let [ORIGIN, PLAIN, WS] = []
const { Agent, Client, Dispatcher, errors, Pool, request } = undici
const connect = { ca: CA }

const makeClient = () => new Client(ORIGIN, { connect })

async function text(dispatcher, path, options = {}) {
  const { statusCode, body } = await dispatcher.request({ origin: ORIGIN, path, method: 'GET', ...options })
  return `${statusCode} ${await body.text()}`
}

const cases = {
  async mockAgent() {
    const agent = new Agent({ connect })
    const mock = new undici.MockAgent({ agent })
    assert.ok(mock instanceof Dispatcher && mock instanceof undici.MockAgent)
    mock.get(ORIGIN).intercept({ path: '/mocked', method: 'GET' }).reply(200, 'mocked').times(2)
    assert.equal(await text(mock, '/mocked'), '200 mocked')
    assert.equal(await text(mock, '/echo?real'), '200 echo ?real')
    assert.equal(agent.stats[ORIGIN].sessions.length, 1)
    undici.setGlobalDispatcher(mock)
    assert.equal(await (await undici.fetch(`${ORIGIN}/mocked`)).text(), 'mocked')
    mock.disableNetConnect()
    const refused = await text(mock, '/echo').catch((error) => error)
    assert.ok(refused instanceof undici.mockErrors.MockNotMatchedError)
    mock.deactivate()
    assert.equal(await text(mock, '/echo?deactivated'), '200 echo ?deactivated')
    await mock.close()
    assert.ok(agent.destroyed)
  },

  async plainOrigins() {
    for (const dispatcher of [new Client(PLAIN), new Pool(PLAIN), new Agent()]) {
      const { statusCode, body } = await dispatcher.request({
        origin: PLAIN,
        path: '/echo?plain',
        method: 'GET',
      })
      assert.deepEqual([statusCode, await body.text()], [200, 'echo ?plain'])
      await dispatcher.close()
    }
    const client = new Client(PLAIN, { useH2c: true })
    const failed = await client.request({ path: '/', method: 'GET' }).catch((error) => error)
    assert.ok(failed instanceof errors.SocketError)
    await client.destroy()
    const { createRequire } = await import('node:module')
    const dodici = createRequire(import.meta.url)('dodici')
    assert.ok(new dodici.Client(ORIGIN) instanceof Client && new Client(ORIGIN) instanceof dodici.Client)
    assert.throws(() => new Client(ORIGIN, 5), errors.InvalidArgumentError)
  },

  async mockClient() {
    const mock = new undici.MockAgent({ agent: new Agent({ connect }), connections: 1 })
    const client = mock.get(ORIGIN)
    assert.ok(client instanceof undici.MockClient && client instanceof Dispatcher)
    client.intercept({ path: '/mocked', method: 'POST', body: 'sent' }).reply(201, 'mocked')
    assert.equal(await text(client, '/mocked', { method: 'POST', body: 'sent' }), '201 mocked')
    assert.equal(await text(client, '/echo?real'), '200 echo ?real')
    await mock.close()
  },

  async snapshotAgent() {
    const agent = new Agent({ connect })
    const snapshotPath = 'snapshots.json'
    const recording = new undici.SnapshotAgent({ mode: 'record', snapshotPath, agent, connect })
    assert.equal(await text(recording, '/echo?snapshot'), '200 echo ?snapshot')
    await recording.saveSnapshots()
    await recording.close()
    const playback = new undici.SnapshotAgent({ mode: 'playback', snapshotPath })
    assert.equal(await text(playback, '/echo?snapshot'), '200 echo ?snapshot')
    await playback.close()
  },

  async retryAgent() {
    const client = makeClient()
    const retrying = new undici.RetryAgent(client, { minTimeout: 1, timeoutFactor: 1 })
    assert.equal(await text(retrying, '/busy-twice'), '200 visit 3')
    const failed = await text(retrying, '/busy-twice?post', { method: 'POST' }).catch((error) => error)
    assert.ok(failed instanceof errors.RequestRetryError && failed instanceof errors.UndiciError)
    assert.equal(failed.statusCode, 503)
    await retrying.close()
    assert.ok(client.destroyed)
  },

  async retryHandler() {
    const client = makeClient()
    const retryOptions = { minTimeout: 1, timeoutFactor: 1 }
    const send = (dispatch) => (options, handler) =>
      dispatch(options, new undici.RetryHandler({ ...options, retryOptions }, { dispatch, handler }))
    assert.equal(await text(client.compose(send), '/busy-twice'), '200 visit 3')
    await client.close()
  },

  async decoratorHandler() {
    const client = makeClient()
    class Counting extends undici.DecoratorHandler {
      static bytes = 0
      onResponseData(controller, chunk) {
        Counting.bytes += chunk.length
        return super.onResponseData?.(controller, chunk)
      }
      onData(chunk) {
        Counting.bytes += chunk.length
        return super.onData(chunk)
      }
    }
    const counting = client.compose(
      (dispatch) => (options, handler) => dispatch(options, new Counting(handler)),
    )
    assert.equal(await text(counting, '/echo?counted'), '200 echo ?counted')
    assert.equal(Counting.bytes, 'echo ?counted'.length)
    await client.close()
  },

  async redirectHandler() {
    const client = makeClient()
    const dispatch = client.dispatch.bind(client)
    const redirecting = client.compose(
      () => (options, handler) =>
        dispatch(
          options,
          new undici.RedirectHandler(dispatch, 5, { ...options, origin: ORIGIN }, handler, false),
        ),
    )
    assert.equal(await text(redirecting, '/moved'), '200 {"here":true}')
    await client.close()
  },

  async interceptors() {
    const client = makeClient()
    const { redirect, retry, dump } = undici.interceptors
    const composed = client.compose(
      retry({ minTimeout: 1, timeoutFactor: 1 }),
      redirect({ maxRedirections: 3 }),
    )
    assert.equal(await text(composed, '/busy-twice', { origin: ORIGIN }), '200 visit 3')
    assert.equal(await text(client.compose(redirect({ maxRedirections: 3 })), '/moved'), '200 {"here":true}')
    assert.equal(await text(client.compose(dump()), '/big'), '200 ')
    await client.close()
  },

  async cacheStores() {
    const client = makeClient()
    const store = new undici.cacheStores.MemoryCacheStore()
    const caching = client.compose(undici.interceptors.cache({ store, methods: ['GET'] }))
    for (let i = 0; i < 3; i++) assert.equal(await text(caching, '/cached'), '200 visit 1')
    await client.close()
  },

  async cookies() {
    const response = await undici.fetch(`${ORIGIN}/cookies`, { dispatcher: new Agent({ connect }) })
    assert.deepEqual(
      undici.getSetCookies(response.headers).map(({ name, value }) => [name, value]),
      [
        ['a', '1'],
        ['b', '2'],
      ],
    )
    const headers = new undici.Headers()
    undici.setCookie(headers, { name: 'c', value: '3' })
    assert.equal(headers.get('set-cookie'), 'c=3')
    const sent = new undici.Headers({ cookie: 'a=1; b=2' })
    assert.deepEqual({ ...undici.getCookies(sent) }, { a: '1', b: '2' })
    undici.deleteCookie(headers, 'c')
    assert.equal(headers.getSetCookie().length, 2)
    process.exitCode = 0
  },

  async buildConnector() {
    const connector = undici.buildConnector({ ca: CA, allowH2: true })
    const client = new Client(ORIGIN, { connect: connector })
    assert.equal(await text(client, '/echo?connected'), '200 echo ?connected')
    assert.equal(client.stats.sessions.length, 1)
    await client.close()
  },

  async balancedPool() {
    const made = []
    const factory = (origin, options) => {
      const pool = new Pool(origin, { ...options, connect })
      made.push(pool)
      return pool
    }
    const balanced = new undici.BalancedPool([ORIGIN, ORIGIN.replace('localhost', '127.0.0.1')], { factory })
    assert.ok(balanced instanceof Dispatcher && balanced instanceof undici.BalancedPool)
    const sent = Array.from({ length: 300 }, (_, i) => text(balanced, `/echo?${i}`))
    const received = await Promise.all(sent)
    assert.deepEqual(
      received,
      received.map((_, i) => `200 echo ?${i}`),
    )
    assert.ok(made.length === 2 && made.every((pool) => pool instanceof Pool))
    await balanced.close()
    assert.ok(made.every(({ destroyed }) => destroyed))
  },

  async roundRobinPool() {
    let made = 0
    const factory = (origin, options) => {
      made++
      return new Client(origin, { ...options, connect })
    }
    const pool = new undici.RoundRobinPool(ORIGIN, { factory, connections: 3 })
    const received = await Promise.all(Array.from({ length: 300 }, (_, i) => text(pool, `/echo?${i}`)))
    assert.deepEqual(
      received,
      received.map((_, i) => `200 echo ?${i}`),
    )
    assert.ok(made >= 1 && made <= 3)
    await pool.close()
  },

  async agentOfUndici() {
    const { createRequire } = await import('node:module')
    const theirs = createRequire(import.meta.url)('undici')
    const agent = new theirs.Agent({
      factory: (origin, options) => new Pool(origin, { ...options, connect }),
    })
    assert.ok(agent instanceof Dispatcher)
    const received = await Promise.all(Array.from({ length: 300 }, (_, i) => text(agent, `/echo?${i}`)))
    assert.deepEqual(
      received,
      received.map((_, i) => `200 echo ?${i}`),
    )
    const { body } = await request(`${ORIGIN}/echo?ours`, { dispatcher: agent })
    assert.equal(await body.text(), 'echo ?ours')
    await agent.close()
  },

  async webSocket() {
    const dispatcher = new Agent()
    const socket = new undici.WebSocket(WS, { dispatcher })
    await once(socket, 'open')
    socket.send('hello')
    const [event] = await once(socket, 'message')
    assert.ok(event instanceof undici.MessageEvent)
    assert.equal(event.data, 'hello')
    socket.close(1000)
    const [closed] = await once(socket, 'close')
    assert.ok(closed instanceof undici.CloseEvent)
    await dispatcher.close()
  },

  async eventSource() {
    const agent = new Agent()
    undici.setGlobalDispatcher(agent)
    const source = new undici.EventSource(`${PLAIN}/events`)
    const [event] = await once(source, 'message')
    assert.equal(event.data, 'first')
    source.close()
    await agent.destroy()
  },

  async oneGlobalDispatcher() {
    const seen = []
    const agent = new Agent({ connect }).compose((dispatch) => (options, handler) => {
      seen.push(options.path)
      return dispatch(options, handler)
    })
    undici.setGlobalDispatcher(agent)
    assert.equal(undici.getGlobalDispatcher(), agent)
    const { createRequire } = await import('node:module')
    const theirs = createRequire(import.meta.url)('undici')
    await (await globalThis.fetch(`${ORIGIN}/echo?built-in`)).text()
    await (await undici.fetch(`${ORIGIN}/echo?fetch`)).text()
    await (await request(`${ORIGIN}/echo?request`)).body.text()
    await (await theirs.request(`${ORIGIN}/echo?theirs`)).body.text()
    await (await theirs.fetch(`${ORIGIN}/echo?their-fetch`)).text()
    assert.deepEqual(
      seen.map((path) => path.slice(6)),
      ['built-in', 'fetch', 'request', 'theirs', 'their-fetch'],
    )
    await agent.close()
  },

  async globalDispatcherOfOthers() {
    const { createRequire } = await import('node:module')
    const theirs = createRequire(import.meta.url)('undici')
    const mock = new theirs.MockAgent()
    mock.disableNetConnect()
    mock.get(ORIGIN).intercept({ path: '/echo?mocked' }).reply(200, 'mocked').times(3)
    await (await globalThis.fetch(`${PLAIN}/echo?loads-node's-own`)).text()
    undici.setGlobalDispatcher(new Agent({ connect }))
    assert.equal(await (await request(`${ORIGIN}/echo?ours`)).body.text(), 'echo ?ours')
    theirs.setGlobalDispatcher(mock)
    assert.equal(undici.getGlobalDispatcher(), mock)
    assert.equal(await (await request(`${ORIGIN}/echo?mocked`)).body.text(), 'mocked')
    assert.equal(await (await undici.fetch(`${ORIGIN}/echo?mocked`)).text(), 'mocked')
    assert.ok((await request(`${ORIGIN}/echo?refused`).catch((error) => error)) instanceof Error)
    const own = new Agent({ connect })
    assert.equal(await (await request(`${ORIGIN}/echo?own`, { dispatcher: own })).body.text(), 'echo ?own')
    undici.setGlobalDispatcher(own)
    assert.equal(await (await request(`${ORIGIN}/echo?again`)).body.text(), 'echo ?again')
    assert.equal(undici.getGlobalDispatcher(), own)
    await Promise.all([own.close(), mock.close()])
  },

  async patched() {
    const { createRequire } = await import('node:module')
    const required = createRequire(import.meta.url)('dodici/undici')
    for (const all of [undici.default, required]) {
      const { fetch } = all
      all.fetch = () => 'a stub'
      assert.equal(all.fetch(), 'a stub')
      all.fetch = fetch
    }
    for (const name of ['BalancedPool', 'Client', 'MockAgent', 'Pool'])
      assert.equal(undici.default[name].name, name)
    const error = new errors.SocketError('It broke', null)
    assert.equal(error.message, 'It broke')
    const mock = new undici.MockAgent()
    assert.ok(mock.get(ORIGIN) instanceof Pool)
    await mock.close()
  },

  async installed() {
    undici.setGlobalDispatcher(new Agent({ connect }))
    undici.install()
    assert.equal(globalThis.fetch, undici.fetch)
    const response = await fetch(new Request(`${ORIGIN}/echo?installed`))
    assert.ok(response instanceof Response && response instanceof undici.Response)
    assert.equal(globalThis.WebSocket, undici.WebSocket)
    assert.equal(await response.text(), 'echo ?installed')
    await undici.getGlobalDispatcher().close()
  },

  async inputOfUndici() {
    const { createRequire } = await import('node:module')
    const theirs = createRequire(import.meta.url)('undici')
    const dispatcher = new Agent({ connect })
    const form = new theirs.FormData()
    form.append('a', 'b')
    const sent = await undici.fetch(`${ORIGIN}/echo`, { method: 'POST', body: form, dispatcher })
    assert.equal((await sent.formData()).get('a'), 'b')
    const asked = new theirs.Request(`${ORIGIN}/fields`, { headers: new theirs.Headers({ x: 'y' }) })
    assert.equal((await (await undici.fetch(asked, { dispatcher })).json()).x, 'y')
    const headers = new theirs.Headers({ x: 'z' })
    assert.equal((await (await undici.fetch(`${ORIGIN}/fields`, { headers, dispatcher })).json()).x, 'z')
    await dispatcher.close()
  },

  async foreignGlobal() {
    undici.setGlobalDispatcher({ dispatch: () => true })
    for (const dispatcher of [new Agent(), new Client(PLAIN), new Pool(PLAIN)]) {
      const { body } = await dispatcher.request({ origin: PLAIN, path: '/echo?foreign', method: 'GET' })
      assert.equal(await body.text(), 'echo ?foreign')
      await dispatcher.close()
    }
    undici.setGlobalDispatcher(new Agent())
    assert.equal(await (await undici.fetch(`${PLAIN}/echo?back`)).text(), 'echo ?back')
    assert.equal(await (await fetch(`${PLAIN}/echo?node`)).text(), 'echo ?node')
    await undici.getGlobalDispatcher().close()
  },

  async errorsOfUndici() {
    const { createRequire } = await import('node:module')
    const theirs = createRequire(import.meta.url)('undici')
    const failed = await theirs
      .request('https://localhost:1', { method: 'bad method' })
      .catch((error) => error)
    assert.ok(failed instanceof errors.InvalidArgumentError && failed instanceof errors.UndiciError)
    const ours = await request('https://localhost:1', { method: 'bad method' }).catch((error) => error)
    assert.ok(ours instanceof theirs.errors.InvalidArgumentError && ours instanceof theirs.errors.UndiciError)
    assert.deepEqual([{ ...ours }.code, JSON.parse(JSON.stringify(ours)).code], [failed.code, failed.code])
  },
}

for (const { name, ...addresses } of JSON.parse(CASES)) {
  ;({ ORIGIN, PLAIN, WS } = addresses)
  try {
    await cases[name]()
    console.log(`${name} passed`)
  } catch (error) {
    console.log(`${name} failed: ${error.stack}`)
  }
}
