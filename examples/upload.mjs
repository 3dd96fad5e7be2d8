/**
 * Uploads content that it generates while sending it, followed by trailers.
 *
 *     npx dodici serve
 *     node examples/upload.mjs
 */

// @ts-check

import { createHash } from 'node:crypto'
import { Client } from 'dodici'

const client = new Client(process.argv[2] ?? 'http://localhost:12080')
const hash = createHash('sha256')

/** A million lines are never in memory at once: the next ones are made when the server has taken those before. */
async function* toLines() {
  for (let number = 0; number < 1_000_000; number += 1_000) {
    const lines = Array.from({ length: 1_000 }, (_, index) => `${number + index}\n`).join('')
    hash.update(lines)
    yield lines
  }
}

const { body, trailers } = await client.request({
  path: '/trailers',
  method: 'POST',
  headers: { 'content-type': 'text/plain' },
  body: toLines(),
  // Dodici calls this when the content has been sent.
  trailers: () => ({ 'x-sha256': hash.copy().digest('hex') }),
})
// The server sends the content back, which this program doesn't need. The server's trailers come last.
for await (const _piece of body);
console.log(
  `${trailers['x-body-length']} bytes, ${trailers['x-body-sha256'] === hash.digest('hex') ? 'unchanged' : 'changed'}`,
)
await client.close()
