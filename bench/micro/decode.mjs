/** The body of a response that is coded in gzip, as fetch undoes it: small ones at once. */
import zlib from 'node:zlib'
import { loadModules } from '../../scripts/support.mjs'

/** @type {typeof import('../../src/fetch/decode.ts')} */
const { BodyDecoder, Decoder } = await loadModules(`export * from '../src/fetch/decode.ts'`)

/** As many responses as may be in flight: threads and event loop work side by side then. */
const BODIES = 50

const users = Array.from({ length: 100 }, (_, id) => ({
  id,
  name: `user ${id}`,
  mail: `u${id * 7919}@example.com`,
}))

/** @param {number} size bytes, decoded */
function toEncoded(size) {
  return zlib.gzipSync(
    JSON.stringify(users)
      .repeat(Math.ceil(size / 5000))
      .slice(0, size),
  )
}

/** @param {typeof BodyDecoder | typeof Decoder} DecoderClass @param {Buffer} encoded @returns {Promise<number>} */
function decode(DecoderClass, encoded) {
  return new Promise((resolve, reject) => {
    let size = 0
    const decoder = new DecoderClass(['gzip'], {
      onDecoded: (chunk) => {
        size += chunk.length
        return true
      },
      onDecodedEnd: () => resolve(size),
      onDecodeError: reject,
      onDecoderDrain() {},
    })
    decoder.write(encoded)
    decoder.end()
  })
}

/** @param {typeof BodyDecoder | typeof Decoder} DecoderClass @param {Buffer} encoded @returns {Promise<number>} */
async function decodeMany(DecoderClass, encoded) {
  const sizes = await Promise.all(Array.from({ length: BODIES }, () => decode(DecoderClass, encoded)))
  return sizes.reduce((sum, size) => sum + size, 0)
}

const sizes = [1024, 8192]

export const comparisons = sizes.map((size) => {
  const encoded = toEncoded(size)
  return {
    title: `${BODIES} bodies of ${size} bytes in gzip (${encoded.length} bytes each)`,
    ways: {
      BodyDecoder: () => decodeMany(BodyDecoder, encoded),
      Decoder: () => decodeMany(Decoder, encoded),
    },
  }
})
