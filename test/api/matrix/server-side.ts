import type { ServerHttp2Stream } from 'node:http2'
import type { Case } from './case.ts'

/** Calls back when the request has come: for a tunnel that is at once, since its end is for later. */
export function whenRead(stream: ServerHttp2Stream, running: Case, respond: () => void): void {
  if (running.api.kind === 'tunnel') {
    stream.resume()
    running.hasRead.open()
    respond()
    return
  }
  stream.setEncoding('utf8').on('data', (text: string) => {
    running.received += text
  })
  stream.on('end', () => {
    // By a reset, as opposed to END_STREAM.
    if (stream.closed) return
    running.hasRead.open()
    respond()
  })
}

export function serveResponse(stream: ServerHttp2Stream, running: Case): void {
  whenRead(stream, running, () => {
    stream.respond({ ':status': 200 })
    stream.end('response')
  })
}

export function servePart(stream: ServerHttp2Stream, running: Case): void {
  whenRead(stream, running, () => respondPart(stream))
}

export function respondPart(stream: ServerHttp2Stream): void {
  stream.respond({ ':status': 200 })
  stream.write('part')
}

/** Reads, and sends nothing. */
export function serveSilence(stream: ServerHttp2Stream, running: Case): void {
  whenRead(stream, running, () => {})
}

/** Doesn't read, and sends nothing. */
export function serveNothing(): void {}
