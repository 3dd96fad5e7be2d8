/**
 * An origin, for any line of Node. Arguments: `h2c` or `http1`, and the port. A GET gets a body that says its length, a POST gets its body
 * back, a tunnel echoes; `/hang` gets no response, and `/drip` one without an end. `GET /tally` says which bodies have come twice, and
 * `GET /active` how many of `/hang` and `/drip` it works at.
 *
 * Over HTTP/1.1 it stands behind proxies, and speaks WebSocket.
 */
import { randomBytes } from 'node:crypto'
import { createServer as createHttp1 } from 'node:http'
import { createServer as createHttp2 } from 'node:http2'
import { WebSocketServer } from 'ws'

const [way, port] = process.argv.slice(2)
/** As many bytes of a POST's body name it. */
const TAG_LENGTH = 9
const filler = Buffer.alloc(2 ** 20, 'chaos ')

/** How often each was taken. @type {Map<string, number>} */
const posts = new Map()
/** @type {string[]} */
const twice = []
let active = 0

/** @param {string} tag */
function touch(tag) {
  const times = (posts.get(tag) ?? 0) + 1
  posts.set(tag, times)
  // `P`: never to be taken twice.
  if (times > 1 && tag.startsWith('P')) twice.push(tag)
}

/** Mostly small; often enough more than a window has room for. */
function toBody() {
  const large = Math.random()
  const most = large < 0.85 ? 300 : large < 0.97 ? 20_000 : large < 0.99 ? 200_000 : 1_000_000
  const size = Math.floor(10 + Math.random() * (most - 10))
  const body = Buffer.from(filler.subarray(0, size))
  body.write(`${size}:`)
  return body
}

/** @param {import('node:stream').Readable} request @param {import('node:stream').Writable} response */
function echo(request, response) {
  let tag = ''
  request.on('data', (chunk) => {
    if (tag.length === TAG_LENGTH) return
    tag += chunk.toString('latin1', 0, TAG_LENGTH - tag.length)
    if (tag.length === TAG_LENGTH) touch(tag)
  })
  request.pipe(response)
}

/**
 * @param {string | undefined} method @param {string | undefined} path @param {import('node:stream').Readable} request
 * @param {import('node:stream').Writable} response @param {() => void} begin sends the header section, where it isn't sent with the body
 */
function respond(method, path, request, response, begin = () => {}) {
  if (path === '/hang' || path === '/drip') {
    active++
    response.on('close', () => active--)
  }
  if (path === '/hang') return
  begin()
  if (path === '/drip') response.write('drip')
  else if (path === '/active') response.end(`${active}`)
  else if (path === '/tally') response.end(JSON.stringify({ posts: posts.size, twice }))
  else if (method === 'CONNECT') request.pipe(response)
  else if (method === 'POST') echo(request, response)
  else response.end(toBody())
}

/** @param {import('node:events').EventEmitter} emitter */
const ignoreErrors = (emitter) => emitter.on('error', () => {})

function startHttp1() {
  const server = createHttp1((request, response) => {
    ignoreErrors(request)
    ignoreErrors(response)
    respond(request.method, request.url, request, response)
  })
  // A proxy's next request must not cross the end of its connection.
  server.keepAliveTimeout = 0
  server.requestTimeout = 0
  server.headersTimeout = 0
  const sockets = new WebSocketServer({ noServer: true, perMessageDeflate: false })
  server.on('upgrade', (request, socket, head) => {
    ignoreErrors(socket)
    // There is none over HTTP/2 (RFC 8441 §5), Envoy adds none, and ws asks for one.
    request.headers['sec-websocket-key'] ??= randomBytes(16).toString('base64')
    sockets.handleUpgrade(request, /** @type {import('node:net').Socket} */ (socket), head, (ws) => {
      ignoreErrors(ws)
      ws.on('message', (data, isBinary) => {
        if (`${data}` === 'bye') ws.close()
        else ws.send(data, { binary: isBinary })
      })
    })
  })
  return server
}

function startHttp2() {
  const server = createHttp2({ settings: { enableConnectProtocol: true } })
  server.on('session', ignoreErrors)
  server.on('sessionError', () => {})
  server.on('stream', (/** @type {import('node:http2').ServerHttp2Stream} */ stream, headers) => {
    ignoreErrors(stream)
    if (stream.destroyed) return
    respond(headers[':method'], headers[':path'], stream, stream, () => stream.respond({ ':status': 200 }))
  })
  return server
}

const server = way === 'h2c' ? startHttp2() : startHttp1()
server.listen(Number(port), '127.0.0.1')
