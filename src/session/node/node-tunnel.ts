/**
 * A stream of node:http2 below a tunnel.
 *
 * @module
 */

import type { ClientHttp2Stream } from 'node:http2'
import type { Socket } from 'node:net'
import { StreamError } from '../../errors.ts'
import type { TunnelSide } from '../stream/tunnel.ts'
import { read } from './node-events.ts'

/** What the tunnel asks for, node does. */
export class NodeTunnelSide implements TunnelSide {
  readonly socket: Socket | null
  readonly #stream: ClientHttp2Stream
  readonly #reset: () => void

  /** @param reset resets the stream, as soon as the peer won't mind */
  constructor(stream: ClientHttp2Stream, socket: Socket | null, reset: () => void) {
    this.socket = socket
    this.#stream = stream
    this.#reset = reset
  }

  readTunnel(): void {
    read(this.#stream)
  }

  writeTunnel(chunk: Uint8Array, callback: (error?: Error | null) => void): void {
    this.#stream.write(chunk, (error) => this.#tell(error, callback))
  }

  endTunnel(callback: (error?: Error | null) => void): void {
    this.#stream.end((error?: Error | null) => this.#tell(error, callback))
  }

  /** Node has given the credit back already. */
  closeTunnel(): void {}

  resetTunnel(): void {
    this.#reset()
  }

  /** Of a write on a stream that is destroyed meanwhile node says that it went well. */
  #tell(error: Error | null | undefined, callback: (error?: Error | null) => void): void {
    const isLost = (error === null || error === undefined) && this.#stream.destroyed
    callback(isLost ? new StreamError('The stream was closed before all was sent') : error)
  }
}
