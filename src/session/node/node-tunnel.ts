/**
 * A node:http2 stream as the engine's side of a tunnel.
 *
 * @module
 */

import type { ClientHttp2Stream } from 'node:http2'
import { StreamError } from '../../errors/errors.ts'
import type { StreamOwner } from '../engine.ts'
import type { TunnelSide } from '../stream/tunnel.ts'
import type { Transport } from '../transport.ts'
import { read } from './node-events.ts'

/** Carries out the tunnel's calls on Node's stream. */
export class NodeTunnelSide implements TunnelSide {
  readonly socket: Transport | null
  readonly #stream: ClientHttp2Stream
  readonly #owner: Pick<StreamOwner, 'socket' | 'updateRef'>
  readonly #reset: () => void

  /** @param reset resets the stream, as soon as the reset budget allows */
  constructor(
    stream: ClientHttp2Stream,
    owner: Pick<StreamOwner, 'socket' | 'updateRef'>,
    reset: () => void,
  ) {
    this.socket = owner.socket
    this.#stream = stream
    this.#owner = owner
    this.#reset = reset
  }

  readTunnel(): void {
    read(this.#stream)
  }

  writeTunnel(chunk: Uint8Array, callback: (error?: Error | null) => void): void {
    // Node would destroy the stream, and drop received data that wasn't read.
    if (this.#stream.closed) callback(new StreamError('The stream was closed before everything was sent'))
    else this.#stream.write(chunk, (error) => this.#tell(error, callback))
  }

  endTunnel(callback: (error?: Error | null) => void): void {
    this.#stream.end((error?: Error | null) => this.#tell(error, callback))
  }

  /** Does nothing: Node has already sent WINDOW_UPDATE. */
  closeTunnel(): void {}

  resetTunnel(): void {
    this.#reset()
  }

  refTunnel(): void {
    this.#owner.updateRef()
  }

  /** Calls back, with an error if the stream was destroyed in the meantime: Node reports success for such a write. */
  #tell(error: Error | null | undefined, callback: (error?: Error | null) => void): void {
    const isLost = (error === null || error === undefined) && this.#stream.destroyed
    callback(isLost ? new StreamError('The stream was closed before everything was sent') : error)
  }
}
