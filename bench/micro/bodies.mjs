/**
 * A request's body, up to the bytes that are sent. The alternative makes a Readable of everything, by Node's own means.
 */
import { Readable } from 'node:stream'
import { loadSource } from './harness.mjs'

/** @type {typeof import('../../src/request/body.ts')} */
const { toBodySource } = await loadSource('request/body.ts')

const PIECE = 'a'.repeat(1024)
const buffer = Buffer.from(PIECE)
const blob = new Blob([PIECE, PIECE])
const parameters = new URLSearchParams({ name: 'value', text: 'some words more' })
const pieces = [buffer, buffer, buffer, buffer]

async function* generate() {
  yield* pieces
}

const toWebStream = () =>
  new ReadableStream({
    start(controller) {
      for (const piece of pieces) controller.enqueue(piece)
      controller.close()
    },
  })

/**
 * All that a stream has, as the session reads it: by its events.
 *
 * @param {Readable} readable
 * @returns {Promise<Buffer>}
 */
function collect(readable) {
  return new Promise((resolve, reject) => {
    /** @type {Uint8Array[]} */
    const chunks = []
    readable.on('data', (chunk) => chunks.push(chunk))
    readable.on('end', () => resolve(Buffer.concat(chunks)))
    readable.on('error', reject)
  })
}

/** What an attempt sends. @param {unknown} body */
function send(body) {
  const source = toBodySource(body)
  if (source.kind === 'bytes') return source.bytes
  if (source.kind !== 'stream') throw new Error(`Nothing to send of a body of kind ${source.kind}`)
  return collect(source.open())
}

/** Not as an iterable of characters or numbers. @param {string | Uint8Array} bytes */
const fromBytes = (bytes) => collect(Readable.from([Buffer.from(bytes)]))

/** @type {import('./harness.mjs').Comparison[]} */
export const comparisons = [
  {
    title: 'a string of 1 KiB',
    ways: {
      'toBodySource(): bytes': () => send(PIECE),
      'Readable.from()': () => fromBytes(PIECE),
    },
  },
  {
    title: 'a Buffer of 1 KiB',
    ways: {
      'toBodySource(): the very bytes': () => send(buffer),
      'Readable.from()': () => fromBytes(buffer),
    },
  },
  {
    title: 'a URLSearchParams',
    ways: {
      'toBodySource(): bytes': () => send(parameters),
      'Readable.from()': () => fromBytes(parameters.toString()),
    },
  },
  {
    title: 'a Blob of 2 KiB',
    ways: {
      'toBodySource()': () => send(blob),
      // Two declarations of one and the same stream, those of the DOM and of Node, meet here.
      'Readable.fromWeb(blob.stream())': () =>
        collect(Readable.fromWeb(/** @type {never} */ (blob.stream()))),
    },
  },
  {
    title: 'an array of 4 Buffers',
    ways: {
      'toBodySource()': () => send(pieces),
      'Readable.from()': () => collect(Readable.from(pieces)),
    },
  },
  {
    title: 'an async generator of 4 Buffers',
    ways: {
      'toBodySource()': () => send(generate()),
      'Readable.from()': () => collect(Readable.from(generate())),
    },
  },
  {
    title: 'a ReadableStream of 4 Buffers',
    ways: {
      'toBodySource()': () => send(toWebStream()),
      'Readable.fromWeb()': () => collect(Readable.fromWeb(/** @type {never} */ (toWebStream()))),
    },
  },
]
