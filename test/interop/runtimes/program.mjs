/**
 * What has to work on every runtime, without a test framework: run as `node program.mjs ENGINE` (or bun, or deno) where the
 * built package is in node_modules. The server runs on Node, elsewhere (test/interop/runtimes/peer.ts): PLAIN, SECURE and HTTP1 are
 * its origins, CA is the certificate.
 *
 * Prints a line for each check, and ends by itself; with 1 if a check failed.
 */

import assert from 'node:assert/strict'
import process from 'node:process'
import { Readable } from 'node:stream'
import { Agent, Client, errors, fetch, install, Pool } from 'dodici'

const { PLAIN, SECURE, HTTP1, CA: ca } = process.env
const engine = process.argv[2]
const runtime = process.versions.bun ? 'Bun' : process.versions.deno ? 'Deno' : 'Node'

/** A check that takes longer than this hangs. Milliseconds. */
const TIME_LIMIT = 60_000

const LARGE = 3_000_000

/** What engine `node` can't do on Bun. It has to say so by itself. */
const LACKS_NODE_HTTP2 = runtime === 'Bun' && engine === 'node'

let failures = 0

/** Runs one check with the client that `open` makes, and closes it. */
async function check(title, open, run) {
  const started = Date.now()
  let alarm
  const limit = new Promise((_, reject) => {
    alarm = setTimeout(() => reject(new Error(`still not done after ${TIME_LIMIT} ms`)), TIME_LIMIT)
  })
  const client = open()
  try {
    await Promise.race([run(client).then(() => client.close().catch(ignoreDestroyed)), limit])
    console.log(`ok: ${title} (${Date.now() - started} ms)`)
  } catch (error) {
    failures++
    console.log(`FAILED: ${title} (${Date.now() - started} ms): ${error?.stack ?? error}`)
    client.destroy().catch(() => {})
  } finally {
    clearTimeout(alarm)
  }
}

/** A check may have closed or destroyed its client itself. */
function ignoreDestroyed(error) {
  if (!(error instanceof errors.ClientDestroyedError)) throw error
}

const secure = () => new Client(SECURE, { engine, connect: { ca } })
const plain = () => new Client(PLAIN, { engine })
const byAddress = () => new Client(SECURE.replace('localhost', '127.0.0.1'), { engine, connect: { ca } })

const get = (client, path, options) => client.request({ path, method: 'GET', ...options })
const post = (client, path, body, options) => client.request({ path, method: 'POST', body, ...options })

/** Bytes that differ, so that a lost or repeated piece shows. */
const large = new Uint8Array(LARGE).map((_, index) => (index * 31 + (index >> 8)) & 255)

async function* inPieces(bytes) {
  for (let from = 0; from < bytes.length; from += 50_000) yield bytes.subarray(from, from + 50_000)
}

function assertSame(actual, expected) {
  assert.equal(actual.length, expected.length)
  assert.ok(Buffer.from(actual).equals(Buffer.from(expected)), 'the bytes differ')
}

async function hello(client) {
  const { statusCode, headers, body } = await get(client, '/hello')
  assert.equal(statusCode, 200)
  assert.equal(headers['content-type'], 'text/plain')
  assert.equal(await body.text(), 'hello')
}

await check('TLS by name', secure, hello)
await check('TLS by address', byAddress, hello)
await check('h2c by prior knowledge', plain, hello)

await check(
  'a certificate that is not trusted',
  () => new Client(SECURE, { engine }),
  async (client) => {
    await assert.rejects(get(client, '/hello'), { processed: 'no' })
  },
)

for (const [name, open] of [
  ['TLS', secure],
  ['h2c', plain],
]) {
  await check(`a small body both ways, ${name}`, open, async (client) => {
    const { body } = await post(client, '/echo', 'small')
    assert.equal(await body.text(), 'small')
  })

  await check(`a response body of 3 MB, ${name}`, open, async (client) => {
    const { body } = await get(client, '/large')
    assert.equal((await body.bytes()).length, LARGE)
  })

  await check(`a request body of 3 MB, ${name}`, open, async (client) => {
    const { body } = await post(client, '/length', large)
    assert.equal(await body.text(), String(LARGE))
  })

  await check(`a body of 3 MB both ways at once, ${name}`, open, async (client) => {
    const { body } = await post(client, '/echo', large)
    assertSame(await body.bytes(), large)
  })

  await check(`a stream of 3 MB both ways at once, ${name}`, open, async (client) => {
    const { body } = await post(client, '/echo', Readable.from(inPieces(large)))
    assertSame(await body.bytes(), large)
  })

  await check(`100 requests at once, ${name}`, open, async (client) => {
    const texts = await Promise.all(
      Array.from({ length: 100 }, async (_, index) => {
        const { body } = await post(client, '/echo', `number ${index}`)
        return body.text()
      }),
    )
    assert.deepEqual(
      texts,
      texts.map((_, index) => `number ${index}`),
    )
  })
}

await check('an abort before the request', secure, async (client) => {
  const reason = new Error('ours')
  await assert.rejects(get(client, '/hello', { signal: AbortSignal.abort(reason) }), reason)
  await hello(client)
})

await check('an abort before the response', secure, async (client) => {
  const abort = new AbortController()
  const reason = new Error('ours')
  const request = assert.rejects(get(client, '/never?before', { signal: abort.signal }), reason)
  await until(client, (streams) => streams['/never?before'] === null)
  abort.abort(reason)
  await request
  await hello(client)
  await untilReset(client, '/never?before')
})

await check('an abort during the response', secure, async (client) => {
  const abort = new AbortController()
  const reason = new Error('ours')
  const { body } = await get(client, '/part?during', { signal: abort.signal })
  const reading = body.text()
  setTimeout(() => abort.abort(reason), 100)
  await assert.rejects(reading, reason)
  await hello(client)
  await untilReset(client, '/part?during')
})

/** The server has got RST_STREAM for the request. */
async function untilReset(client, path) {
  const streams = await until(client, (streams) => typeof streams[path] === 'number')
  assert.equal(streams[path], 8, 'CANCEL')
}

/** Asks what became of the streams that the server has got, until it is as it should be. */
async function until(client, isThere) {
  for (;;) {
    const { body } = await get(client, '/streams')
    const streams = await body.json()
    if (isThere(streams)) return streams
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

await check('a reset by the server', secure, async (client) => {
  await assert.rejects(get(client, '/reset'), { code: 'DODICI_ERR_STREAM', http2ErrorCode: 2 })
  await hello(client)
})

await check('a reset during the response', secure, async (client) => {
  const { body } = await get(client, '/cut')
  await assert.rejects(body.text(), { code: 'DODICI_ERR_STREAM', http2ErrorCode: 2, processed: 'yes' })
  await hello(client)
})

for (const path of ['/lost', '/torn']) {
  await check(`a connection that is lost during the response: ${path}`, secure, async (client) => {
    const { body } = await get(client, path)
    await assert.rejects(body.text(), { processed: 'yes' })
    const posted = await post(client, path, 'some')
    await assert.rejects(posted.body.text(), { processed: 'yes' })
    await hello(client)
  })
}

await check('a server that retires the connection', secure, async (client) => {
  const requests = [get(client, '/retire'), get(client, '/hello'), get(client, '/hello')]
  for (const { body } of await Promise.all(requests)) assert.equal(await body.text(), 'hello')
  await hello(client)
})

await check(
  'no server',
  () => new Client('http://127.0.0.1:1', { engine }),
  async (client) => {
    await assert.rejects(get(client, '/hello'), { name: 'ConnectError', processed: 'no' })
  },
)

await check('a time limit', secure, async (client) => {
  await assert.rejects(get(client, '/never', { headersTimeout: 100 }), errors.HeadersTimeoutError)
})

await check('trailers of a response', secure, async (client) => {
  const { body, trailers } = await get(client, '/trailers')
  assert.equal(await body.text(), 'before')
  assert.equal(trailers['x-trailer'], 'after')
})

await check('trailers of a request', secure, async (client) => {
  const sending = post(client, '/request-trailers', 'before', { trailers: { 'x-trailer': 'after' } })
  if (LACKS_NODE_HTTP2) {
    await assert.rejects(sending, errors.NotSupportedError)
    return
  }
  const { body } = await sending
  assert.deepEqual(await body.json(), { body: 'before', trailer: 'after' })
})

await check('an informational response', secure, async (client) => {
  const seen = []
  const { body } = await get(client, '/hints', {
    onInfo: ({ statusCode, headers }) => seen.push(statusCode, headers.link),
  })
  assert.equal(await body.text(), 'hinted')
  assert.deepEqual(seen, [103, '</a.css>'])
})

await check('a response without a body', secure, async (client) => {
  const { statusCode, body } = await get(client, '/empty')
  assert.equal(statusCode, 204)
  assert.equal(await body.text(), '')
  const head = await client.request({ path: '/hello', method: 'HEAD' })
  assert.equal(await head.body.text(), '')
})

await check('a Pool', () => new Pool(SECURE, { engine, connections: 2, connect: { ca } }), hello)

const agent = () => new Agent({ engine, h2c: true, connect: { ca } })

await check('fetch', agent, async (dispatcher) => {
  const response = await fetch(`${SECURE}/hello`, { dispatcher })
  assert.ok(response instanceof Response)
  assert.equal(response.status, 200)
  assert.equal(response.headers.get('content-type'), 'text/plain')
  assert.equal(await response.text(), 'hello')
})

await check('fetch, with a body', agent, async (dispatcher) => {
  const small = await fetch(`${SECURE}/echo`, { method: 'POST', body: 'small', dispatcher })
  assert.equal(await small.text(), 'small')
  const whole = await fetch(`${SECURE}/echo`, { method: 'POST', body: large, dispatcher })
  assertSame(new Uint8Array(await whole.arrayBuffer()), large)
})

await check('fetch, with a stream and a form', agent, async (dispatcher) => {
  const stream = new Blob(['streamed']).stream()
  const streamed = await fetch(`${PLAIN}/echo`, { method: 'POST', body: stream, duplex: 'half', dispatcher })
  assert.equal(await streamed.text(), 'streamed')
  const form = new FormData()
  form.set('name', 'value')
  const formed = await fetch(`${PLAIN}/echo`, { method: 'POST', body: form, dispatcher })
  assert.match(await formed.text(), /name="name"\r\n\r\nvalue\r\n/)
})

await check('fetch, a stream of the response', agent, async (dispatcher) => {
  const { body } = await fetch(`${SECURE}/large`, { dispatcher })
  let length = 0
  for await (const piece of body) length += piece.length
  assert.equal(length, LARGE)
})

await check('fetch, JSON and a coding', agent, async (dispatcher) => {
  const response = await fetch(`${SECURE}/json`, { dispatcher })
  assert.equal(response.headers.get('content-encoding'), 'gzip')
  assert.deepEqual(await response.json(), { hello: 'world' })
})

await check('fetch, a Request and a redirect', agent, async (dispatcher) => {
  const response = await fetch(new Request(`${SECURE}/redirect`), { dispatcher })
  assert.equal(response.redirected, true)
  assert.equal(response.url, `${SECURE}/json`)
  assert.deepEqual(await response.json(), { hello: 'world' })
})

await check('fetch, an abort', agent, async (dispatcher) => {
  const signal = AbortSignal.timeout(100)
  await assert.rejects(fetch(`${SECURE}/never`, { dispatcher, signal }), { name: 'TimeoutError' })
})

await check('a tunnel', secure, async (client) => {
  const { statusCode, socket } = await client.connect({ path: 'example.com:443' })
  assert.equal(statusCode, 200)
  socket.setEncoding('utf8')
  socket.write('through ')
  socket.end('and back')
  let text = ''
  for await (const piece of socket) text += piece
  assert.equal(text, 'through and back')
})

await check('close() waits for requests', secure, async (client) => {
  const reading = post(client, '/echo', large).then(({ body }) => body.bytes())
  const closing = client.close()
  await assert.rejects(get(client, '/hello'), errors.ClientClosedError)
  await closing
  assertSame(await reading, large)
})

await check('destroy() fails requests', secure, async (client) => {
  const request = get(client, '/never')
  await client.destroy()
  await assert.rejects(request, errors.ClientDestroyedError)
})

await check(
  'a server of HTTP/1.1',
  () => new Client(HTTP1, { engine, connect: { ca } }),
  async (client) => {
    if (runtime === 'Node') {
      await hello(client)
      return
    }
    await assert.rejects(get(client, '/hello'), {
      name: 'NotSupportedError',
      message: new RegExp(`undici.*${runtime}|${runtime}.*undici`),
    })
  },
)

await check('install()', agent, async (dispatcher) => {
  if (runtime !== 'Node') {
    assert.throws(() => install(dispatcher), { name: 'NotSupportedError', message: new RegExp(runtime) })
    return
  }
  install(dispatcher)
  const response = await globalThis.fetch(`${SECURE}/hello`)
  assert.equal(await response.text(), 'hello')
})

await check(
  'the engine by default',
  () => new Client(PLAIN),
  async (client) => {
    const { body } = await get(client, '/window')
    // 4 MiB or 16 MiB: docs/connections.md.
    const isWire = Number(await body.text()) < 8_000_000
    assert.equal(isWire, runtime === 'Bun')
  },
)

console.log(failures === 0 ? 'all done' : `${failures} failed`)
// Not exit(): the process has to end by itself.
process.exitCode = failures === 0 ? 0 : 1
