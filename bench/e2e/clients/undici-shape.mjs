/**
 * One adapter for everything with undici's programming model: dodici and undici run the very same lines, so
 * that a difference between them can't come from here.
 */
import { Writable } from 'node:stream'
import { toFetchStart } from './fetch-shape.mjs'
import { toBody } from './piece-reader.mjs'
import { echo } from './tunnel.mjs'

/**
 * @typedef {import('./index.mjs').Target} Target
 * @typedef {import('./index.mjs').Done} Done
 */

/**
 * The part of an undici-shaped dispatcher that the benchmark uses.
 *
 * @typedef {Record<string, string>} Headers
 * @typedef {{ origin: string | undefined, path: string, method: string, headers: Headers }} PipelineOptions
 * @typedef {PipelineOptions & { body: import('./piece-reader.mjs').Body }} RequestOptions
 * @typedef {{ statusCode: number, body: { text(): Promise<string> } }} ResponseScript
 * @typedef {{ statusCode: number, opaque: Discard }} StreamStart
 * @typedef {{ statusCode: number, body: import('node:stream').Readable }} PipelineResult
 * @typedef {import('node:stream').Duplex} Duplex
 * @typedef {{
 *   dispatch(options: RequestOptions, handler: object): boolean
 *   request(options: RequestOptions): Promise<ResponseScript>
 *   stream(
 *     options: RequestOptions & { opaque: Discard },
 *     factory: (start: StreamStart) => Writable,
 *   ): Promise<{ opaque: Discard }>
 *   pipeline(
 *     options: PipelineOptions,
 *     handler: (response: PipelineResult) => import('node:stream').Readable,
 *   ): Duplex
 *   connect(options: { path: string, headers: Headers }): Promise<{ statusCode: number, socket: Duplex }>
 *   upgrade(options: { path: string, protocol: string, headers: Headers }): Promise<{ socket: Duplex }>
 *   close(): Promise<void>
 * }} DispatcherLike
 */

export class CountingHandler {
  /** @param {Done} done */
  constructor(done) {
    this.done = done
    this.status = 0
    this.bytes = 0
  }

  onRequestStart() {}

  /**
   * @param {object} _controller
   * @param {number} status
   */
  onResponseStart(_controller, status) {
    this.status = status
  }

  /**
   * @param {object} _controller
   * @param {Uint8Array} chunk
   */
  onResponseData(_controller, chunk) {
    this.bytes += chunk.length
  }

  onResponseEnd() {
    this.done(null, this.status, this.bytes)
  }

  /**
   * @param {object} _controller
   * @param {Error} error
   */
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

  /**
   * @override
   * @param {Uint8Array} chunk
   * @param {string} _encoding
   * @param {() => void} callback
   */
  _write(chunk, _encoding, callback) {
    this.bytes += chunk.length
    callback()
  }
}

/** @param {StreamStart} start */
function discard({ statusCode, opaque }) {
  opaque.status = statusCode
  return opaque
}

/** @param {{ opaque: Discard }} end */
function discarded({ opaque }) {
  opaque.done(null, opaque.status, opaque.bytes)
}

/**
 * @param {DispatcherLike} dispatcher
 * @param {import('./fetch-shape.mjs').FetchLike | null} fetch one that takes it as its `dispatcher`; null: it isn't
 *   asked for
 * @returns {Omit<import('./index.mjs').Opened, 'version'>}
 */
export function openUndiciShape(dispatcher, fetch) {
  return {
    apis: {
      /**
       * @param {Target} target
       * @param {Done} done
       */
      dispatch(target, done) {
        const { origin, path, method } = target
        const body = toBody(target)
        const headers = { accept: '*/*', 'user-agent': 'bench' }
        dispatcher.dispatch({ origin, path, method, headers, body }, new CountingHandler(done))
      },

      /**
       * @param {Target} target
       * @param {Done} done
       */
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

      /**
       * @param {Target} target
       * @param {Done} done
       */
      stream(target, done) {
        const { origin, path, method } = target
        const body = toBody(target)
        const failed = (/** @type {Error} */ error) => done(error, 0, 0)
        const headers = { accept: '*/*', 'user-agent': 'bench' }
        const opaque = new Discard(done)
        dispatcher.stream({ origin, path, method, headers, body, opaque }, discard).then(discarded, failed)
      },

      /**
       * @param {Target} target
       * @param {Done} done
       */
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

      ...(fetch === null ? {} : { fetch: toFetchStart(fetch, { dispatcher }) }),

      /**
       * undici has no use for `path` over HTTP/2: its `:authority` is the origin's own, unless there is a `host`
       * header. The server takes both.
       *
       * @param {Target} target
       * @param {Done} done
       */
      connect({ authority, body }, done) {
        const failed = (/** @type {Error} */ error) => done(error, 0, 0)
        const headers = { 'user-agent': 'bench' }
        dispatcher
          .connect({ path: authority, headers })
          .then(({ statusCode, socket }) => echo(socket, body, statusCode, done), failed)
      },

      /**
       * @param {Target} target
       * @param {Done} done
       */
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
