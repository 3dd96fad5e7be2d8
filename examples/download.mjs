/**
 * Downloads a file and shows the progress. The file appears once it is complete.
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

// The body may pause for up to 300 s, unless you set `bodyTimeout`.
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
  // Reads no faster than the disk writes: the server waits for its window.
  await pipeline(body, count, createWriteStream(part))
  await rename(part, file)
  console.log(`${total} bytes in ${file}`)
} catch (error) {
  // For example, the connection broke, or the body was shorter than its content-length.
  await rm(part, { force: true })
  throw error
} finally {
  await client.close()
}
