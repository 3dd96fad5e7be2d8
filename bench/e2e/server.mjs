/**
 * The server for machines without nghttpd, and for tunnels: answers a GET of `/N` with N bytes, a POST with its
 * own body, and echoes on the stream of a CONNECT, plain or extended. It speaks HTTP/2 only. Writes
 * `listening PORT` when it is ready, and ends when its standard input does, which also happens when the
 * process that started it dies.
 */
import { readFileSync } from 'node:fs'
import { createSecureServer, createServer } from 'node:http2'

/** @type {{ maxStreams: number, keyFile: string | null, certFile: string | null }} */
const { maxStreams, keyFile, certFile } = JSON.parse(process.argv[2] ?? '{}')

const settings = { maxConcurrentStreams: maxStreams, enableConnectProtocol: true }
const server =
  keyFile === null || certFile === null
    ? createServer({ settings })
    : createSecureServer({ settings, key: readFileSync(keyFile), cert: readFileSync(certFile) })

/** @type {Map<string, Buffer>} */
const answers = new Map()

/** @param {string} path */
function answerFor(path) {
  let answer = answers.get(path)
  if (answer === undefined) {
    answer = Buffer.alloc(Number(path.slice(1)) || 0, 'a')
    answers.set(path, answer)
  }
  return answer
}

/**
 * @param {import('node:http2').ServerHttp2Stream} stream
 * @param {Buffer} answer
 */
function respond(stream, answer) {
  // The fields that nghttpd sends, so that clients have as much to decode.
  stream.respond({
    ':status': 200,
    'content-length': answer.length,
    'content-type': 'application/octet-stream',
    'cache-control': 'max-age=3600',
    'last-modified': 'Thu, 01 Jan 2026 00:00:00 GMT',
  })
  stream.end(answer)
}

/**
 * As nghttpd does it: the answer starts when the request is complete, and has its length.
 *
 * @param {import('node:http2').ServerHttp2Stream} stream
 */
function respondWithItsBody(stream) {
  /** @type {Buffer[]} */
  const chunks = []
  stream.on('data', (/** @type {Buffer} */ chunk) => chunks.push(chunk))
  stream.on('end', () => respond(stream, Buffer.concat(chunks)))
}

/**
 * @param {import('node:http2').ServerHttp2Stream} stream
 * @param {import('node:http2').IncomingHttpHeaders} headers
 */
function onStream(stream, headers) {
  stream.on('error', () => {})
  switch (headers[':method']) {
    case 'CONNECT':
      stream.respond({ ':status': 200 })
      stream.pipe(stream)
      break
    case 'POST':
      respondWithItsBody(stream)
      break
    default:
      respond(stream, answerFor(headers[':path'] ?? '/0'))
  }
}

server.on('stream', onStream)
server.on('sessionError', () => {})

server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  process.stdout.write(`listening ${address.port}\n`)
})

process.stdin.on('end', () => process.exit())
process.stdin.resume()
