/**
 * Responses that go into a Writable, and a request that is a Duplex.
 */
import { Readable, Transform, Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { differs, firstOf, greeting, upload } from '../case.mjs'

/** @typedef {import('../case.mjs').Case} Case */
/** @typedef {import('../case.mjs').Outcome} Outcome */

/** A Writable that keeps what it gets. */
export class Sink extends Writable {
  /** @type {Buffer[]} */
  #chunks = []

  get bytes() {
    return this.#chunks.reduce((sum, { length }) => sum + length, 0)
  }

  get text() {
    return Buffer.concat(this.#chunks).toString()
  }

  /**
   * @param {Buffer} chunk
   * @param {BufferEncoding} _encoding
   * @param {() => void} callback
   */
  _write(chunk, _encoding, callback) {
    this.#chunks.push(chunk)
    callback()
  }
}

/**
 * @param {(factory: import('dodici').StreamFactory<null>) => Promise<import('dodici').StreamData<null>>} send
 * @param {string} expected
 * @param {(data: import('dodici').StreamData<null>) => string | null} [check]
 * @returns {Promise<Outcome>}
 */
export async function intoSink(send, expected, check = () => null) {
  const sink = new Sink()
  /** @type {Outcome} */
  const outcome = { status: 0, bytes: 0, headers: [], problem: null }
  const data = await send(({ statusCode, headers }) => {
    outcome.status = statusCode
    outcome.headers = headers
    return sink
  })
  return { ...outcome, bytes: sink.bytes, problem: firstOf(differs(expected, sink.text), check(data)) }
}

/**
 * @param {(handler: import('dodici').PipelineHandler<null, Readable>) => import('node:stream').Duplex} send
 * @param {string} expected
 * @param {Transform} [transform] for the response's body on its way back
 * @returns {Promise<Outcome>}
 */
export async function throughDuplex(send, expected, transform) {
  const sink = new Sink()
  /** @type {Outcome} */
  const outcome = { status: 0, bytes: 0, headers: [], problem: null }
  const duplex = send(({ statusCode, headers, body }) => {
    outcome.status = statusCode
    outcome.headers = headers
    return transform === undefined ? body : body.pipe(transform)
  })
  await pipeline(Readable.from([upload, upload]), duplex, sink)
  return { ...outcome, bytes: sink.bytes, problem: differs(expected, sink.text) }
}

/** @type {readonly Case[]} */
export const streamCases = [
  {
    api: 'stream',
    run: ({ client, path }) =>
      intoSink((factory) => client.stream({ path, method: 'GET' }, factory), greeting),
  },
  {
    api: 'stream, response trailers',
    path: '/trailers',
    elsewhere: 'left out',
    run: ({ client, path }) =>
      intoSink(
        (factory) => client.stream({ path, method: 'GET' }, factory),
        'the checksum follows\n',
        ({ trailers }) => (trailers['x-checksum'] === 'a1b2c3' ? null : 'the trailers differ'),
      ),
  },
  {
    api: 'pipeline, a Transform on the way back',
    path: '/echo',
    run: ({ client, path }) =>
      throughDuplex(
        (handler) => client.pipeline({ path, method: 'POST' }, handler),
        upload.repeat(2).toUpperCase(),
        new Transform({
          transform(chunk, _encoding, callback) {
            callback(null, String(chunk).toUpperCase())
          },
        }),
      ),
  },
]
