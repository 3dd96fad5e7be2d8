/** A server of node:http2 that responds with the authority: `origin-server.mjs FOLDER PORT ORIGIN…`. Its ORIGIN frame lists these. */

import { readFileSync } from 'node:fs'
import { createSecureServer } from 'node:http2'
import { join } from 'node:path'

const [folder = '', port, ...origins] = process.argv.slice(2)
const [key, cert] = ['key.pem', 'cert.pem'].map((name) => readFileSync(join(folder, name)))
const server = createSecureServer({ key, cert, ...(origins.length === 0 ? {} : { origins }) })
server.on('session', (session) => session.on('error', () => {}))
server.on('stream', (stream, headers) => {
  stream.on('error', () => {})
  stream.respond({ ':status': 200 })
  stream.end(headers[':authority'])
})
server.listen(Number(port), '127.0.0.1', () => console.log('listening'))
