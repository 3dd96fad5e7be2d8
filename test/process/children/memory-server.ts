/**
 * Reads uploads slowly, and sends as many bytes as requested, as fast as the client takes them. Ends with its input.
 */
import type { IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2'
import { createServer } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { report } from './report.ts'

const PIECE = Buffer.alloc(65_536, 'dodici')

/** Turns of the event loop between two pieces: the peer has always more to send than is taken. */
const TURNS = 8

async function swallow(stream: ServerHttp2Stream): Promise<void> {
  let bytes = 0
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    bytes += chunk.length
    for (let turn = 0; turn < TURNS; turn++) await new Promise((resolve) => setImmediate(resolve))
  }
  stream.respond({ ':status': 200 })
  stream.end(String(bytes))
}

function* repeat(bytes: number): Generator<Buffer> {
  for (let sent = 0; sent < bytes; sent += PIECE.length) yield PIECE.subarray(0, bytes - sent)
}

const server = createServer()
server.on('stream', (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => {
  stream.on('error', () => {})
  if (headers[':method'] === 'POST') {
    swallow(stream).catch(() => stream.destroy())
    return
  }
  stream.respond({ ':status': 200 })
  Readable.from(repeat(Number(headers['x-bytes'])), { objectMode: false }).pipe(stream)
})
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo
  report({ origin: `http://127.0.0.1:${port}` })
})
process.stdin.resume().on('end', () => process.exit())
