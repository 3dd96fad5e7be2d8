/** `text()` of a response's body. */
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { loadSource } from './harness.mjs'

/** @type {typeof import('../../src/api/body-readable.ts')} */
const { BodyReadable } = await loadSource('api/body-readable.ts')

const HIGH_WATER_MARK = 65_536

/** The hooks of a call that is never held back. */
const controller = {
  aborted: false,
  paused: false,
  reason: null,
  rawHeaders: null,
  rawTrailers: null,
  abort() {},
  pause() {},
  resume() {},
}

const PIECE = Buffer.from('a'.repeat(1024))

/** @param {number} pieces how many of 1 KiB come, once the reader reads */
async function readOwn(pieces) {
  const headers = { 'content-length': `${pieces * PIECE.length}` }
  const owner = { isHead: false, target: '/', statusCode: 200 }
  const body = new BodyReadable(controller, headers, HIGH_WATER_MARK, owner)
  const read = body.text()
  for (let i = 0; i < pieces; i++) body.receive(PIECE)
  body.finish()
  return read
}

/** @param {number} pieces @param {(body: Readable) => Promise<string>} consume */
async function readPlain(pieces, consume) {
  const body = new Readable({ highWaterMark: HIGH_WATER_MARK, read() {} })
  const read = consume(body)
  for (let i = 0; i < pieces; i++) body.push(PIECE)
  body.push(null)
  return read
}

/** @param {Readable} body @returns {Promise<string>} */
function concat(body) {
  return new Promise((resolve, reject) => {
    /** @type {Buffer[]} */
    const chunks = []
    body.on('data', (chunk) => chunks.push(chunk))
    body.on('end', () => resolve(Buffer.concat(chunks).toString()))
    body.on('error', reject)
  })
}

export const comparisons = [1, 16].map((pieces) => ({
  title: `text() of ${pieces} KiB in ${pieces === 1 ? 'one piece' : `${pieces} pieces`}`,
  ways: {
    BodyReadable: () => readOwn(pieces),
    'a Readable, its events, Buffer.concat()': () => readPlain(pieces, concat),
    'a Readable, text() of node:stream/consumers': () => readPlain(pieces, text),
  },
}))
