/**
 * A TLS server of HTTP/2 for the scenes, in a separate process, over node:http2. It is correct; what it does to a request is chosen
 * by chance, as a busy service would. Its argument is a `ServerOptions`. It waits until it is told to listen, so that a restart takes
 * no longer than the death of the server before it.
 *
 * Each small request that comes, and each call before it is answered, is appended to the journal. What was written survives SIGKILL.
 */
import { once } from 'node:events'
import { openSync, writeSync } from 'node:fs'
import { constants, createSecureServer } from 'node:http2'
import { serve } from '../../child.mjs'
import { portOf } from '../../processes.mjs'
import { makeRandom } from '../../random.mjs'

/**
 * @typedef {object} ServerOptions
 * @property {string} key
 * @property {string} cert
 * @property {string} journal a file, which several servers may share: see `Scene.readJournal()`
 * @property {number} index of the server
 * @property {string} name comes back with each response, as `x-server`
 * @property {number} limit of concurrent streams
 * @property {boolean} isRough whether it resets streams and retires connections now and then
 * @property {number} seed
 *
 * @typedef {{ delay?: number, errors?: number }} Disturbance `delay`: milliseconds that each response takes longer; `errors`: the share of
 *   calls that get a 500, at once
 *
 * @typedef {import('node:http2').ServerHttp2Stream} Stream
 */

const { NGHTTP2_REFUSED_STREAM, NGHTTP2_INTERNAL_ERROR, NGHTTP2_NO_ERROR } = constants
/** Above all stream ids: the first of the two GOAWAYs of a graceful shutdown (RFC 9113 §6.8). */
const MAX_STREAM_ID = 2 ** 31 - 1
/** Milliseconds between the two. */
const BETWEEN_GOAWAYS = 100
/** Of a body that takes long to read or to send. */
const LARGE = 8_000_000
const PIECE = Buffer.alloc(50_000, 'd')
/** Bytes of an entry of the journal. */
const ENTRY = 14

/** @type {ServerOptions} */
const { key, cert, journal, index, name, limit, isRough, seed } = JSON.parse(process.argv[2] ?? '{}')
const random = makeRandom(seed)
const file = openSync(journal, 'a')
/** @type {Disturbance} */
let disturbance = {}

/** @type {Set<import('node:http2').ServerHttp2Session>} */
const sessions = new Set()
const tally = { opened: 0, streams: 0, mostStreams: 0, goaways: 0, refused: 0, reset: 0 }

/** @param {string | string[] | undefined} call its number @param {boolean} isExecuted false: it has just come */
function note(call, isExecuted) {
  const bytes = Buffer.allocUnsafe(ENTRY)
  bytes.writeUInt32LE(Number(call), 0)
  bytes.writeUInt8(index, 4)
  bytes.writeUInt8(isExecuted ? 1 : 0, 5)
  bytes.writeDoubleLE(Date.now(), 6)
  writeSync(file, bytes)
}

/** @param {string | string[] | undefined} call */
const execute = (call) => note(call, true)

/** @param {Stream} stream @param {number} status @param {string} [body] */
function answer(stream, status, body) {
  // Its peer may be gone.
  if (stream.destroyed || stream.closed) return
  stream.respond({ ':status': status, 'x-server': name }, { endStream: body === undefined })
  if (body !== undefined) stream.end(body)
}

/** @param {Stream} stream @param {number} code */
function reset(stream, code) {
  if (code === NGHTTP2_REFUSED_STREAM) tally.refused++
  else tally.reset++
  stream.close(code)
}

/** What is to be done next on each stream. @type {Map<Stream, NodeJS.Timeout>} */
const timers = new Map()

/** Runs it unless the stream has ended by then. @param {Stream} stream @param {number} delay @param {() => void} run */
function later(stream, delay, run) {
  if (!stream.destroyed) timers.set(stream, setTimeout(run, delay))
}

/** @type {Readonly<Record<string, (stream: Stream, headers: import('node:http2').IncomingHttpHeaders) => void>>} */
const routes = {
  /** A small request, such as a notification to a device. */
  '/small'(stream, headers) {
    note(headers['x-call'], false)
    if (isRough && random.chance(0.003)) return reset(stream, NGHTTP2_REFUSED_STREAM)
    if (isRough && random.chance(0.003)) {
      // Before the body has come: RFC 9113 §8.1.
      answer(stream, 413)
      // Node 22 and 26 send RST_STREAM alone if it comes in the same turn.
      setImmediate(() => stream.close(NGHTTP2_NO_ERROR))
      return
    }
    stream.resume()
    stream.once('end', () => {
      if (random.chance(disturbance.errors ?? 0)) return answer(stream, 500)
      if (isRough && random.chance(0.001)) return reset(stream, NGHTTP2_INTERNAL_ERROR)
      execute(headers['x-call'])
      if (isRough && random.chance(0.001)) return reset(stream, NGHTTP2_INTERNAL_ERROR)
      if (isRough && random.chance(0.01)) return answer(stream, 410, '{"reason":"Unregistered"}')
      later(stream, random.integer(2, 30) + (disturbance.delay ?? 0), () => answer(stream, 200))
    })
  },

  /** A response that comes word by word: server-sent events. */
  '/words'(stream, headers) {
    stream.resume()
    stream.once('end', () => {
      execute(headers['x-call'])
      let left = Number(headers['x-words'])
      const say = () => {
        if (left-- > 0) stream.write(`data: ${left}\n\n`)
        if (left > 0) later(stream, random.integer(100, 300), say)
        else stream.end('data: [DONE]\n\n')
      }
      later(stream, random.integer(20, 300), () => {
        stream.respond({ ':status': 200, 'content-type': 'text/event-stream', 'x-server': name })
        say()
      })
    })
  },

  /** Nothing for long, then little by little. */
  '/slow'(stream, headers) {
    const most = Number(headers['x-most'])
    stream.resume()
    let left = 5
    const say = () => {
      if (left-- === 0) {
        stream.end()
        return
      }
      stream.write('slow')
      later(stream, random.integer(most / 80, most / 5), say)
    }
    later(stream, random.integer(most / 20, most), () => {
      execute(headers['x-call'])
      stream.respond({ ':status': 200, 'x-server': name })
      say()
    })
  },

  '/large'(stream, headers) {
    execute(headers['x-call'])
    stream.respond({ ':status': 200, 'x-server': name })
    let left = LARGE
    const fill = () => {
      while (left > 0 && stream.write(PIECE)) left -= PIECE.length
      if (left > 0) left -= PIECE.length
      if (left <= 0) stream.end()
      else stream.once('drain', fill)
    }
    fill()
  },

  /** Reads nothing for long. */
  '/upload'(stream, headers) {
    const most = Number(headers['x-most'])
    let length = 0
    later(stream, random.integer(most / 20, most), () => {
      stream.on('data', (chunk) => {
        length += chunk.length
      })
    })
    stream.once('end', () => {
      execute(headers['x-call'])
      answer(stream, 200, String(length))
    })
  },
}

/** No new streams, in one step or in two. @param {import('node:http2').ServerHttp2Session} session */
function retire(session) {
  tally.goaways++
  if (random.chance(0.5)) {
    session.close()
    return
  }
  session.goaway(NGHTTP2_NO_ERROR, MAX_STREAM_ID)
  setTimeout(() => session.closed || session.close(), BETWEEN_GOAWAYS)
}

const server = createSecureServer({ key, cert, settings: { maxConcurrentStreams: limit } })
server.on('tlsClientError', () => {})
server.on('sessionError', () => {})
server.on('session', (session) => {
  tally.opened++
  sessions.add(session)
  session.on('error', () => {})
  session.on('close', () => sessions.delete(session))
  let left = isRough ? random.integer(1_000, 5_000) : Number.POSITIVE_INFINITY
  session.on('stream', () => {
    if (--left === 0) retire(session)
  })
})
server.on('stream', (/** @type {Stream} */ stream, headers) => {
  tally.streams++
  tally.mostStreams = Math.max(tally.mostStreams, tally.streams)
  stream.on('error', () => {})
  stream.on('close', () => {
    tally.streams--
    clearTimeout(timers.get(stream))
    timers.delete(stream)
  })
  const route = routes[headers[':path'] ?? '']
  if (route === undefined) answer(stream, 404)
  else if (!stream.destroyed) route(stream, headers)
})

const methods = {
  prepare: () => true,
  async listen(/** @type {number} */ port) {
    await once(server.listen(port, '127.0.0.1'), 'listening')
    return portOf(server)
  },
  /** A rolling restart: the next server listens while this one finishes its streams, until it loses its patience. */
  drain(/** @type {number} */ patience) {
    for (const session of sessions) retire(session)
    // From Node 24 on it closes the sessions, too.
    server.close(() => process.exit())
    setTimeout(() => process.exit(), patience)
  },
  disturb(/** @type {Disturbance} */ next) {
    disturbance = next
  },
  tally: () => ({ ...tally, sessions: sessions.size }),
}
serve(methods)

/** @typedef {typeof methods} Methods */
