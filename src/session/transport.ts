/**
 * The stream that carries the bytes of a connection.
 *
 * @module
 */

import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'

/** A socket, or the Duplex that a caller's connect function returns instead, which may lack some of these. */
export interface Transport extends Duplex {
  /** Whether it isn't connected yet; undefined for a Duplex. */
  readonly connecting?: boolean
  readonly bytesRead: number
  readonly bytesWritten: number
  setNoDelay?(isOn: boolean): unknown
  /** @param initialDelay in milliseconds */
  setKeepAlive?(isOn: boolean, initialDelay: number): unknown
  ref(): unknown
  unref(): unknown
  /** The local address, as from `net.Socket`. */
  address(): AddressInfo | Record<string, never>
}

/** How many bytes were read from it; null if a caller's substitute for a socket doesn't count them. */
export function toBytesRead(transport: Transport): number | null {
  const bytes: unknown = transport.bytesRead
  return typeof bytes === 'number' ? bytes : null
}
