/**
 * What adapters share: one for every function of the shape of the Fetch standard's fetch(), and one for everything with undici's
 * programming model. Dodici and undici run the very same lines, so that a difference between them can't come from here.
 */
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Readable, Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'

/**
 * @typedef {import('./index.mjs').Target} Target
 * @typedef {import('./index.mjs').Done} Done
 * @typedef {import('./index.mjs').Start} Start
 * @typedef {{ status: number, text(): Promise<string> }} FetchResult
 * @typedef {(url: string, init: RequestInit) => Promise<FetchResult>} FetchLike
 * @typedef {import('node:stream').Duplex} Duplex
 */

/**
 * The version of the package that a module belongs to: what its nearest package.json with a version says.
 *
 * @param {string} url of the module
 * @returns {string}
 */
export function versionOf(url) {
  for (let folder = dirname(fileURLToPath(url)); folder !== dirname(folder); folder = dirname(folder)) {
    try {
      /** @type {{ version?: string }} */
      const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
      if (version !== undefined) return version
    } catch (error) {
      if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'ENOENT') throw error
    }
  }
  return 'unknown'
}

/** As much as a stream of a file reads at once. */
const PIECE = 65_536

/** Reads a Buffer in pieces, as a stream of a file gives them: one for each call, never in the same tick. */
export class PieceReader extends Readable {
  #body
  #at = 0

  /** @param {Buffer} body */
  constructor(body) {
    super({ highWaterMark: PIECE })
    this.#body = body
  }

  /** @override */
  _read() {
    const piece = this.#body.subarray(this.#at, this.#at + PIECE)
    this.#at += piece.length
    process.nextTick(() => this.push(piece.length === 0 ? null : piece))
  }
}

/** The body of one request. @param {Target} target */
export function toBody({ body, isStreamed }) {
  return body !== null && isStreamed ? new PieceReader(body) : body
}

/**
 * Sends `body` through a tunnel, reads as many bytes back, and ends it. It is done when the tunnel has closed, so
 * that none is left when the client is.
 *
 * @param {Duplex} socket @param {Buffer | null} body
 * @param {number} status the response's, to hand on @param {Done} done
 */
export function echo(socket, body, status, done) {
  if (body === null) throw new Error('a tunnel needs something to send')
  let bytes = 0
  socket.on('data', (chunk) => {
    bytes += chunk.length
    if (bytes >= body.length) socket.end()
  })
  socket.on('error', () => {})
  socket.on('close', () => done(socket.errored, status, bytes))
  socket.write(body)
}

/** @param {FetchLike} fetch @param {object} [extra] further options of each request: a dispatcher @returns {Start} */
export function toFetchStart(fetch, extra) {
  const headers = { accept: '*/*', 'user-agent': 'bench' }
  // A body that is read while it is sent has to say so, by the standard.
  const streamed = { headers, ...extra, duplex: 'half' }
  const buffered = { headers, ...extra }
  return (target, done) => {
    const { url, method, isStreamed } = target
    const failed = (/** @type {Error} */ error) => done(error, 0, 0)
    // Not null: fetch-h2 would take that for a body.
    const body = toBody(target) ?? undefined
    fetch(url, { method, ...(isStreamed ? streamed : buffered), body }).then(
      // The body is ASCII, so the length of the text is its number of bytes.
      (response) => response.text().then((text) => done(null, response.status, text.length), failed),
      failed,
    )
  }
}

export class CountingHandler {
  /** @param {Done} done */
  constructor(done) {
    this.done = done
    this.status = 0
    this.bytes = 0
  }

  onRequestStart() {}

  /** @param {object} _controller @param {number} status */
  onResponseStart(_controller, status) {
    this.status = status
  }

  /** @param {object} _controller @param {Uint8Array} chunk */
  onResponseData(_controller, chunk) {
    this.bytes += chunk.length
  }

  onResponseEnd() {
    this.done(null, this.status, this.bytes)
  }

  /** @param {object} _controller @param {Error} error */
  onResponseError(_controller, error) {
    this.done(error, this.status, this.bytes)
  }
}

/** Where `stream()` writes to; it is its own `opaque`, which takes no closure and no object besides. */
class Discard extends Writable {
  /** @param {Done} done */
  constructor(done) {
    super()
    this.done = done
    this.status = 0
    this.bytes = 0
  }

  /** @override @param {Uint8Array} chunk @param {string} _encoding @param {() => void} callback */
  _write(chunk, _encoding, callback) {
    this.bytes += chunk.length
    callback()
  }
}

/** @param {{ statusCode: number, opaque: Discard }} start */
function discard({ statusCode, opaque }) {
  opaque.status = statusCode
  return opaque
}

/** @param {{ opaque: Discard }} end */
function discarded({ opaque }) {
  opaque.done(null, opaque.status, opaque.bytes)
}

/**
 * @param {object} own a dispatcher @param {FetchLike} fetch that takes it as its `dispatcher`
 * @returns {Omit<import('./index.mjs').Opened, 'version'>}
 */
export function openUndiciShape(own, fetch) {
  const dispatcher = /** @type {import('../../../types/index.ts').Dispatcher} */ (own)
  return {
    apis: {
      dispatch(target, done) {
        const { origin, path, method } = target
        const body = toBody(target)
        const headers = { accept: '*/*', 'user-agent': 'bench' }
        dispatcher.dispatch({ origin, path, method, headers, body }, new CountingHandler(done))
      },

      request(target, done) {
        const { origin, path, method } = target
        const body = toBody(target)
        const failed = (/** @type {Error} */ error) => done(error, 0, 0)
        const headers = { accept: '*/*', 'user-agent': 'bench' }
        dispatcher.request({ origin, path, method, headers, body }).then(
          // The body is ASCII, so the length of the text is its number of bytes.
          ({ statusCode, body }) => body.text().then((text) => done(null, statusCode, text.length), failed),
          failed,
        )
      },

      stream(target, done) {
        const { origin, path, method } = target
        const body = toBody(target)
        const failed = (/** @type {Error} */ error) => done(error, 0, 0)
        const headers = { accept: '*/*', 'user-agent': 'bench' }
        const opaque = new Discard(done)
        dispatcher.stream({ origin, path, method, headers, body, opaque }, discard).then(discarded, failed)
      },

      pipeline({ origin, path, method, body }, done) {
        const headers = { accept: '*/*', 'user-agent': 'bench' }
        let status = 0
        let bytes = 0
        const duplex = dispatcher.pipeline({ origin, path, method, headers }, (response) => {
          status = response.statusCode
          return response.body
        })
        duplex.on('data', (chunk) => {
          bytes += chunk.length
        })
        duplex.on('end', () => done(null, status, bytes))
        duplex.on('error', (error) => done(error, status, bytes))
        duplex.end(body)
      },

      fetch: toFetchStart(fetch, { dispatcher }),

      /**
       * undici has no use for `path` over HTTP/2: its `:authority` is the origin's own, unless there is a `host`
       * header. The server takes both.
       */
      connect({ authority, body }, done) {
        const failed = (/** @type {Error} */ error) => done(error, 0, 0)
        const headers = { 'user-agent': 'bench' }
        dispatcher
          .connect({ path: authority, headers })
          .then(({ statusCode, socket }) => echo(socket, body, statusCode, done), failed)
      },

      upgrade({ path, body }, done) {
        const failed = (/** @type {Error} */ error) => done(error, 0, 0)
        const headers = { 'user-agent': 'bench' }
        dispatcher
          // undici's own default, `Websocket`, is a protocol that it refuses over HTTP/2.
          .upgrade({ path, protocol: 'websocket', headers })
          // The status isn't told: there is a socket for 200 alone.
          .then(({ socket }) => echo(socket, body, 200, done), failed)
      },
    },
    close: () => dispatcher.close(),
  }
}
