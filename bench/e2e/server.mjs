/**
 * The server for machines without nghttpd, for tunnels, for many origins, and for clients that can't speak HTTP/2:
 * responds to a GET of `/N` with N bytes, a POST with its own body, and echoes
 * on the stream of a CONNECT, plain or extended. It speaks HTTP/2 only, or HTTP/1.1 only. Writes `listening PORT` when
 * it is ready, or `listening PORT,PORT,...`, and ends when its standard input does, which also happens when the process
 * that started it dies.
 */
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import * as http from 'node:http'
import * as http2 from 'node:http2'
import * as https from 'node:https'
import { portOf } from '../../scripts/processes.mjs'

/**
 * @type {{ http1: boolean, ports: number, maxStreams: number, window: number | null, keyFile: string | null, certFile: string | null }}
 *   `window`: bytes that it takes on a stream, and on a connection; null: as many as node:http2 does by itself
 */
const { http1, ports, maxStreams, window, keyFile, certFile } = JSON.parse(process.argv[2] ?? '{}')

const tls =
  keyFile === null || certFile === null ? null : { key: readFileSync(keyFile), cert: readFileSync(certFile) }

/** @type {Map<string, Buffer>} */
const responses = new Map()

/** @param {string} path its query apart */
function responseFor(path) {
  let content = responses.get(path)
  if (content === undefined) {
    const size = Number.parseInt(path.slice(1), 10) || 0
    content = Buffer.alloc(size, 'a')
    responses.set(path, content)
  }
  return content
}

let varied = 0

/**
 * The fields that nghttpd sends, so that clients have as much to decode; in response to a path with a query, one more, which no other response has.
 *
 * @param {string} path @param {Buffer} content
 */
function toFields(path, content) {
  return {
    'content-length': content.length,
    'content-type': 'application/octet-stream',
    'cache-control': 'max-age=3600',
    'last-modified': 'Thu, 01 Jan 2026 00:00:00 GMT',
    ...(path.includes('?') ? { 'x-request-id': `${varied++}`.padStart(32, '0') } : {}),
  }
}

/** @param {string} path */
function toPlainPath(path) {
  const query = path.indexOf('?')
  return query === -1 ? path : path.slice(0, query)
}

/** @param {import('node:http2').ServerHttp2Stream} stream @param {string} path @param {Buffer} content */
function respond(stream, path, content) {
  stream.respond({ ':status': 200, ...toFields(path, content) })
  stream.end(content)
}

/**
 * As nghttpd does it: the response starts when the request is complete, and has its length.
 *
 * @param {import('node:stream').Readable} request @param {(response: Buffer) => void} respond
 */
function respondWithItsBody(request, respond) {
  /** @type {Buffer[]} */
  const chunks = []
  request.on('data', (/** @type {Buffer} */ chunk) => chunks.push(chunk))
  request.on('end', () => respond(Buffer.concat(chunks)))
}

/** @param {import('node:http2').ServerHttp2Stream} stream @param {import('node:http2').IncomingHttpHeaders} headers */
function onStream(stream, headers) {
  stream.on('error', () => {})
  const path = headers[':path'] ?? '/0'
  switch (headers[':method']) {
    case 'CONNECT':
      stream.respond({ ':status': 200 })
      stream.pipe(stream)
      break
    case 'POST':
      respondWithItsBody(stream, (body) => respond(stream, path, body))
      break
    default:
      respond(stream, path, responseFor(toPlainPath(path)))
  }
}

/** @param {http.IncomingMessage} request @param {http.ServerResponse} response */
function onRequest(request, response) {
  const path = request.url ?? '/0'
  const respond = (/** @type {Buffer} */ content) =>
    response.writeHead(200, toFields(path, content)).end(content)
  if (request.method === 'POST') respondWithItsBody(request, respond)
  else respond(responseFor(toPlainPath(path)))
}

function makeServer() {
  if (http1) return tls === null ? http.createServer(onRequest) : https.createServer(tls, onRequest)
  const own = window === null ? {} : { initialWindowSize: window }
  const settings = { maxConcurrentStreams: maxStreams, enableConnectProtocol: true, ...own }
  const server =
    tls === null ? http2.createServer({ settings }) : http2.createSecureServer({ settings, ...tls })
  server.on('stream', onStream)
  if (window !== null) server.on('session', (session) => session.setLocalWindowSize(window))
  server.on('sessionError', () => {})
  return server
}

/** @returns {Promise<number>} the port that it got */
async function listen() {
  const server = makeServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  return portOf(server)
}

const listening = await Promise.all(Array.from({ length: ports }, listen))
process.stdout.write(`listening ${listening.join(',')}\n`)

process.stdin.on('end', () => process.exit())
process.stdin.resume()
