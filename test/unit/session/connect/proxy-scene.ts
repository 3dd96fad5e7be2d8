/** The proxy's end of a connection without a socket, and messages in pieces. */

import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { onTestFinished } from 'vitest'
import { PairedDuplex } from '../../../../src/testing/duplex-pair.ts'
import type { Connector } from '../../../../types/index.ts'

/** Both ends of one connection, and what the proxy has got. */
export interface ProxyEnds {
  readonly proxy: PairedDuplex
  readonly socket: Socket
  received(): Buffer
}

export function openEnds(): ProxyEnds {
  const [proxy, far] = PairedDuplex.toPair()
  const received: Buffer[] = []
  // The other end may be gone while the proxy still sends.
  proxy.on('error', () => {}).on('data', (chunk: Buffer) => received.push(chunk))
  far.on('error', () => {})
  onTestFinished(() => {
    proxy.destroy()
    far.destroy()
  })
  return { proxy, socket: far as unknown as Socket, received: () => Buffer.concat(received) }
}

/** A connect function that yields the ends' socket. */
export function toConnector({ socket }: ProxyEnds): Connector {
  return (_options, callback) => callback(null, socket)
}

/** Sends the pieces, each in a turn of its own. */
export async function sendPieces(proxy: PairedDuplex, pieces: readonly Buffer[]): Promise<void> {
  for (const piece of pieces) {
    if (!proxy.destroyed) proxy.write(piece)
    // One turn to come, and one to be read.
    await nextTurn()
    await nextTurn()
  }
}

/** A message whole, in two pieces by each cut, and byte by byte. */
export function toCuts(message: Buffer): Buffer[][] {
  const cuts = [[message], [...message].map((byte) => Buffer.of(byte))]
  for (let at = 1; at < message.length; at++) cuts.push([message.subarray(0, at), message.subarray(at)])
  return cuts
}

/** Settles when the stream is closed. */
export function closed(stream: NodeJS.EventEmitter & { readonly closed: boolean }): Promise<void> {
  return stream.closed ? Promise.resolve() : new Promise((resolve) => stream.once('close', resolve))
}

/** What a tunnel has read, once it has so many bytes. */
export async function readAll(tunnel: Duplex, length: number): Promise<string> {
  let text = ''
  tunnel.on('data', (chunk: Buffer) => {
    text += chunk.toString('latin1')
  })
  while (text.length < length) await nextTurn()
  return text
}
