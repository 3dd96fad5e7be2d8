/**
 * A download to a file, with its progress. The file appears when all of it has come.
 *
 *     npx dodici serve
 *     node examples/download.mjs http://localhost:12080/bytes/10000000 /tmp/download
 */

// @ts-check

import { createWriteStream } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { Client } from 'dodici'

const [, , url = 'http://localhost:12080/bytes/10000000', file = join(tmpdir(), 'dodici-download')] =
  process.argv
const part = `${file}.part`
const { origin, pathname } = new URL(url)
const client = new Client(origin)

// The limit between two pieces of the body is 300 s, unless `bodyTimeout` is another.
const { statusCode, headers, body } = await client.request({
  path: pathname,
  method: 'GET',
  bodyTimeout: 10_000,
})
if (statusCode !== 200) {
  await body.dump()
  throw new Error(`The server responded with ${statusCode}`)
}
const total = Number(headers['content-length'])

/** @param {AsyncIterable<Buffer>} pieces */
async function* count(pieces) {
  let received = 0
  let told = 0
  for await (const piece of pieces) {
    received += piece.length
    const percent = Math.floor((received / total) * 100)
    if (percent >= told + 25) {
      told = percent - (percent % 25)
      console.log(`${told} %`)
    }
    yield piece
  }
}

try {
  // What the disk doesn't take yet isn't read: the server waits for its window.
  await pipeline(body, count, createWriteStream(part))
  await rename(part, file)
  console.log(`${total} bytes in ${file}`)
} catch (error) {
  // Such as a connection that broke, or a body that is shorter than its content-length.
  await rm(part, { force: true })
  throw error
} finally {
  await client.close()
}
