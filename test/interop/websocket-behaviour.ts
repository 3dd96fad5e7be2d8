/** What the servers do with a socket, by the path that its client asks for. */

import { once } from 'node:events'
import type { WebSocket } from 'ws'

/** Bytes. The largest that a control frame may have (RFC 6455 §5.5). */
const MAX_CONTROL = 125

/** What a socket's frames go over. */
export interface Transport {
  /** Ends it properly. */
  end(): void
  /** Resets it. */
  lose(): void
}

/**
 * - `/echo`: each message comes back
 * - `/fragments?size=…`: likewise, in frames of so many bytes, with a ping after each
 * - `/pings`: sends pings of each length, then the message `done` after the last pong
 * - `/close?code=…&reason=…`: responds to the first message by closing
 * - `/reset`, `/end`: responds to the first message with a loss of the connection, or its end, without a close frame
 * - `/flood?count=…&size=…`: sends so many messages at once
 * - `/stuck`: reads nothing until `/release` is asked for; then counts bytes, and says how many when it gets text
 */
export function behave(ws: WebSocket, transport: Transport, url: URL, all: readonly WebSocket[]): void {
  const { pathname, searchParams } = url
  const number = (name: string): number => Number(searchParams.get(name))
  if (pathname === '/echo') ws.on('message', (data, isBinary) => ws.send(data, { binary: isBinary }))
  else if (pathname === '/fragments')
    ws.on('message', (data: Buffer, isBinary) => sendFragments(ws, data, isBinary, number('size')))
  else if (pathname === '/pings') void sendPings(ws)
  else if (pathname === '/close')
    ws.on('message', () => ws.close(number('code'), searchParams.get('reason') ?? ''))
  else if (pathname === '/reset') ws.on('message', () => transport.lose())
  else if (pathname === '/end') ws.on('message', () => transport.end())
  else if (pathname === '/flood') flood(ws, number('count'), number('size'))
  else if (pathname === '/stuck') stick(ws)
  else if (pathname === '/release') for (const other of all) other.resume()
}

function sendFragments(ws: WebSocket, data: Buffer, binary: boolean, size: number): void {
  for (let start = 0; start === 0 || start < data.length; start += size) {
    const fin = start + size >= data.length
    ws.send(data.subarray(start, start + size), { binary, fin })
    if (!fin) ws.ping(`after ${start}`)
  }
}

async function sendPings(ws: WebSocket): Promise<void> {
  for (const length of [0, 1, 64, MAX_CONTROL]) {
    const ponged = once(ws, 'pong')
    ws.ping(Buffer.alloc(length, length))
    await ponged
  }
  ws.send('done')
}

function flood(ws: WebSocket, count: number, size: number): void {
  for (let i = 0; i < count; i++) ws.send(String(i).padEnd(size, '.'))
}

function stick(ws: WebSocket): void {
  let bytes = 0
  ws.pause()
  ws.on('message', (data: Buffer, isBinary) => {
    if (isBinary) bytes += data.length
    else ws.send(String(bytes))
  })
}
