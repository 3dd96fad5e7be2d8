// @ts-check
// `npm run demo`: calls every API over HTTP/2 on loopback, with TLS and without, on both engines, and compares each response with what
// the server had to send. The server is node:http2, in a child process: this file again, forked.
import assert from 'node:assert/strict'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { connect, constants, createSecureServer, createServer } from 'node:http2'
import { PassThrough, Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { setTimeout as after } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { makeCertificate } from './certificate.mjs'

/**
 * @typedef {typeof import('dodici')} Dodici
 * @typedef {import('node:http2').ServerHttp2Stream} Stream
 * @typedef {{ dodici: Dodici, client: import('dodici').Client, agent: import('dodici').Agent, origin: string }} Scene
 * @typedef {{ engine: 'node' | 'wire', origin: string, connect: import('dodici').ConnectTlsOptions }} Way
 * @typedef {(scene: Scene) => Promise<unknown>} Check it throws where a response is wrong
 */

const GREETING = 'Hello from HTTP/2\n'.repeat(57)
const UPLOAD = 'one line of an upload\n'
const HOME = /** @type {const} */ ({ path: '/', method: 'GET' })
const REQUESTS = 20_000 // That many GETs are measured; a quarter as many warm up.

/** @param {{ statusCode: number, body: { text(): Promise<string> } }} response @param {string} expected */
async function read({ statusCode, body }, expected = GREETING) {
  assert.equal(statusCode, 200)
  assert.equal(await body.text(), expected)
}

/** @param {Scene} scene @param {import('dodici').RequestBody} body */
const post = ({ client }, body) => client.request({ path: '/echo', method: 'POST', body })

async function* makeLines() {
  for (let index = 0; index < 64; index++) {
    await new Promise(setImmediate)
    yield UPLOAD
  }
}

/** @param {import('dodici').ConnectData<null>} data @param {string} wanted the tunnel's target */
async function echo({ statusCode, headers, socket }, wanted) {
  socket.end(UPLOAD)
  assert.deepEqual([statusCode, headers['x-tunnel'], await text(socket)], [200, wanted, UPLOAD])
}

/**
 * Reads a response that never ends until `onData()` or a limit ends it. The server has to see the stream cancelled
 * (RFC 9113 §7), and the session has to go on.
 *
 * @param {Scene} scene @param {object} options @param {() => void} onData
 */
async function readUnended({ client }, options, onData = () => {}) {
  const { headers, body } = await client.request({ path: '/stall', method: 'GET', ...options })
  const failure = await new Promise((resolve) =>
    body.on('data', onData).on('end', resolve).on('error', resolve),
  )
  const next = await client.request({ path: '/reset', method: 'GET' })
  assert.equal(next.headers['x-session'], headers['x-session'])
  await read(next, 'CANCEL')
  return failure
}

/** @param {Scene} scene @returns {Promise<string>} */
const dispatch = ({ client }) =>
  new Promise((resolve, reject) => {
    /** @type {Buffer[]} */
    const chunks = []
    client.dispatch(HOME, {
      onRequestStart() {},
      onResponseStart() {},
      onResponseData: (_controller, chunk) => void chunks.push(chunk),
      onResponseEnd: () => resolve(`${Buffer.concat(chunks)}`),
      onResponseError: (_controller, error) => reject(error),
    })
  })

/** What is tried, by its name, which begins with the API. @type {Readonly<Record<string, Check>>} */
export const CHECKS = {
  'dispatch: a handler': async (scene) => assert.equal(await dispatch(scene), GREETING),
  'request: a promise': async ({ client }) => read(await client.request(HOME)),
  'request: raw headers, duplicates kept apart': async ({ client }) => {
    const { headers, body } = await client.request({ ...HOME, responseHeaders: 'raw' })
    assert.equal(Object.values(headers).filter((name) => name === 'set-cookie').length, 2)
    await body.dump()
  },
  'request: 100 at once, on one session': async ({ client }) => {
    const ask = async () => {
      const response = await client.request(HOME)
      await read(response)
      return response.headers['x-session']
    }
    assert.equal(new Set(await Promise.all(Array.from({ length: 100 }, ask))).size, 1)
  },
  'request: POST of a string': async (scene) => read(await post(scene, UPLOAD), UPLOAD),
  'request: POST of a Readable': async (scene) => read(await post(scene, Readable.from([UPLOAD])), UPLOAD),
  'request: POST of an async iterable': async (scene) =>
    read(await post(scene, makeLines()), UPLOAD.repeat(64)),
  'request: POST of a FormData': async (scene) => {
    const form = new FormData()
    form.append('file', new Blob([UPLOAD]), 'lines.txt')
    const sent = await (await post(scene, form)).body.text()
    assert.ok(sent.includes('filename="lines.txt"') && sent.includes(UPLOAD))
  },
  'request: trailers, both ways': async ({ client }) => {
    const trailers = { 'x-checksum': 'a1b2c3' }
    const body = makeLines()
    const response = await client.request({
      path: '/trailers',
      method: 'POST',
      body,
      trailers: () => trailers,
    })
    await read(response, UPLOAD.repeat(64))
    assert.deepEqual({ ...response.trailers }, trailers)
  },
  'request: 103 Early Hints': async ({ client }) => {
    /** @type {number[]} */
    const seen = []
    const onInfo = (/** @type {{ statusCode: number }} */ { statusCode }) => seen.push(statusCode)
    await read(await client.request({ path: '/hints', method: 'GET', onInfo }))
    assert.deepEqual(seen, [103])
  },
  'request: ended by its signal, an AbortError': async (scene) => {
    const controller = new AbortController()
    const failure = await readUnended(scene, { signal: controller.signal }, () => controller.abort())
    assert.equal(failure, controller.signal.reason)
  },
  'request: ended by bodyTimeout, a UND_ERR_BODY_TIMEOUT': async (scene) => {
    const failure = await readUnended(scene, { bodyTimeout: 100 })
    assert.ok(failure instanceof scene.dodici.errors.BodyTimeoutError)
  },
  'request: by the global dispatcher': async ({ dodici, origin }) => read(await dodici.request(origin)),
  'compose: an interceptor': async ({ client }) => {
    let seen = 0
    const counted = client.compose((next) => (options, handler) => {
      seen++
      return next(options, handler)
    })
    await read(await counted.request(HOME))
    assert.equal(seen, 1)
  },
  'stream: into a Writable': async ({ client }) => {
    const sink = new PassThrough()
    await Promise.all([
      client.stream(HOME, () => sink),
      text(sink).then((all) => assert.equal(all, GREETING)),
    ])
  },
  'pipeline: through a Transform': async ({ client }) => {
    const duplex = client.pipeline({ path: '/echo', method: 'POST' }, ({ body }) =>
      body.map((chunk) => String(chunk).toUpperCase()),
    )
    assert.equal(await text(Readable.from([UPLOAD]).pipe(duplex)), UPLOAD.toUpperCase())
  },
  'fetch: a URL': async ({ dodici, origin }) =>
    assert.equal(await (await dodici.fetch(origin)).text(), GREETING),
  'fetch: a Request, its response as a web stream': async ({ dodici, origin }) => {
    const { body } = await dodici.fetch(new Request(`${origin}/echo`, { method: 'POST', body: UPLOAD }))
    assert.equal(body === null ? '' : await text(body), UPLOAD)
  },
  'connect: a tunnel': async ({ client }) =>
    echo(await client.connect({ path: 'a.example:7' }), 'a.example:7'),
  'upgrade: a WebSocket by extended CONNECT': async ({ client }) =>
    echo(await client.upgrade({ path: '/', protocol: 'websocket' }), 'websocket'),
}

/** Plays all checks, each for `limit` milliseconds at most. @param {Dodici} dodici @param {Way} way @returns {Promise<{ name: string, problem: string | null }[]>} */
export async function play(dodici, { engine, origin, connect }, limit = 10_000) {
  const options = { engine, connect, fallback: null }
  const client = new dodici.Client(origin, options)
  const agent = new dodici.Agent({ ...options, h2c: true })
  dodici.setGlobalDispatcher(agent)
  const outcomes = []
  for (const [name, check] of Object.entries(CHECKS)) {
    const late = after(limit, 'it took too long', { ref: false }).then(assert.fail)
    const checked = Promise.race([check({ dodici, client, agent, origin }), late])
    outcomes.push({ name, problem: await checked.then(() => null, String) })
  }
  // After a failure there may be a request that never ends.
  const isRight = outcomes.every(({ problem }) => problem === null)
  await Promise.all([client, agent].map((each) => (isRight ? each.close() : each.destroy())))
  return outcomes
}

/** The CPU time that GETs take, 100 at a time, in seconds. @param {() => Promise<string>} ask */
async function measure(ask) {
  const run = (/** @type {number} */ count) =>
    Promise.all(
      Array.from({ length: 100 }, async () => {
        for (let left = count / 100; left > 0; left--) await ask()
      }),
    )
  await run(REQUESTS / 4)
  const before = process.cpuUsage()
  await run(REQUESTS)
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1e6
}

/** @param {Dodici} dodici @param {string} origin */
async function compareCpu({ Client }, origin) {
  const client = new Client(origin, { engine: 'wire' })
  const session = connect(origin)
  const wire = await measure(async () => (await client.request(HOME)).body.text())
  const node = await measure(() => text(session.request({ ':path': '/' })))
  session.close()
  await client.close()
  return { wire, node }
}

async function main() {
  const dodici = await import('dodici')
  const server = fork(fileURLToPath(import.meta.url), { env: { ...process.env, DEMO: 'server' } })
  const [{ origins, ca }] = await once(server, 'message')
  console.log(`Dodici on Node ${process.versions.node}\n\n${Object.keys(CHECKS).join('\n')}\n`)
  let tried = 0
  let right = 0
  for (const engine of /** @type {const} */ (['node', 'wire'])) {
    for (const origin of origins) {
      const outcomes = await play(dodici, { engine, origin, connect: { ca } })
      const wrong = outcomes.filter(({ problem }) => problem !== null)
      console.log(
        `engine ${engine}, ${origin}: ${outcomes.length - wrong.length} of ${outcomes.length} as expected`,
      )
      for (const { name, problem } of wrong) console.error(`  ${name}: ${problem}`)
      tried += outcomes.length
      right += outcomes.length - wrong.length
    }
  }
  const { wire, node } = await compareCpu(dodici, origins[1])
  server.disconnect()
  const [ours, theirs] = [wire, node].map((seconds) => `${seconds.toFixed(2)} s of CPU time`)
  console.log(`\n${REQUESTS.toLocaleString('en')} GETs of 1 KiB over h2c: wire ${ours}, node:http2 ${theirs}`)
  console.log(
    `${right} of ${tried} as expected; wire took ${(wire / node).toFixed(2)} of node:http2's CPU time.`,
  )
  if (right < tried) process.exitCode = 1
}

const stalled = /** @type {WeakMap<object, Stream>} */ (new WeakMap()) // The last stream of `/stall`, by session.

/** @param {Stream} stream @param {import('node:http2').IncomingHttpHeaders} headers */
function respond(stream, headers) {
  stream.on('error', () => {}) // A client may leave early.
  const { session } = stream
  const { ':method': method, ':path': path, ':protocol': protocol } = headers
  if (session === undefined) return
  const fields = { ':status': 200, 'x-session': `${session.socket.remotePort}` }
  if (path === '/hints') stream.additionalHeaders({ ':status': 103, link: '</style.css>; rel=preload' })
  if (path === '/trailers') {
    /** @type {import('node:http2').OutgoingHttpHeaders} */
    let trailers = {}
    stream.on('trailers', (received) => {
      trailers = { 'x-checksum': received['x-checksum'] }
    })
    stream.respond(fields, { waitForTrailers: true })
    stream.on('wantTrailers', () => stream.sendTrailers(trailers)).pipe(stream)
  } else if (method === 'CONNECT' || path === '/echo') {
    stream.respond({ ...fields, 'x-tunnel': protocol ?? headers[':authority'] })
    stream.pipe(stream)
  } else if (path === '/stall') {
    stalled.set(session, stream)
    stream.respond(fields)
    stream.write('the rest never comes')
  } else if (path === '/reset') {
    stream.respond(fields)
    const reset = stalled.get(session)
    const tell = () => stream.end(reset?.rstCode === constants.NGHTTP2_CANCEL ? 'CANCEL' : 'another end')
    if (reset?.closed === false) reset.once('close', tell)
    else tell()
  } else {
    stream.respond({ ...fields, 'set-cookie': ['a=1', 'b=2'] })
    stream.end(GREETING)
  }
}

async function serve() {
  const { key, cert } = await makeCertificate()
  const settings = { enableConnectProtocol: true } // For extended CONNECT (RFC 8441 §3).
  const origins = []
  for (const [scheme, server] of /** @type {const} */ ([
    ['https', createSecureServer({ key, cert, settings })],
    ['http', createServer({ settings })],
  ])) {
    await once(server.on('stream', respond).listen(0, '127.0.0.1'), 'listening')
    const address = server.address()
    if (address !== null && typeof address === 'object') origins.push(`${scheme}://127.0.0.1:${address.port}`)
  }
  process.send?.({ origins, ca: cert })
  process.on('disconnect', () => process.exit())
}

if (process.argv[1] === fileURLToPath(import.meta.url))
  await (process.env.DEMO === 'server' ? serve() : main())
