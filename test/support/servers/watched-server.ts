import { EventEmitter, once } from 'node:events'
import type { ServerHttp2Stream } from 'node:http2'
import type { StreamListener } from './server.ts'
import { startServer } from './server.ts'

/** A server that tells with which codes its streams were closed; it responds to `/hello`, and doesn't tell of that. */
export async function startWatched(listener: StreamListener) {
  const events = new EventEmitter()
  const codes: number[] = []
  const server = await startServer((stream, headers) => {
    if (headers[':path'] === '/hello') {
      stream.respond({ ':status': 200 })
      stream.end('hello')
      return
    }
    stream.on('close', () => {
      codes.push(stream.rstCode)
      events.emit('closed')
    })
    listener(stream, headers)
  })
  return { server, codes, closed: once(events, 'closed') }
}

/** Responds with so many bytes, in pieces, as fast as they are taken; `onPiece` hears how many were written so far. */
export function writeAll(stream: ServerHttp2Stream, total: number, onPiece: (written: number) => void): void {
  const chunk = Buffer.alloc(65_536)
  let written = 0
  const write = (): void => {
    while (written < total) {
      const piece = chunk.subarray(0, total - written)
      written += piece.length
      onPiece(written)
      if (!stream.write(piece)) {
        stream.once('drain', write)
        return
      }
    }
    stream.end()
  }
  stream.respond({ ':status': 200 })
  write()
}
