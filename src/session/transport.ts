/**
 * What the bytes of a connection go over.
 *
 * @module
 */

import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'

/** A socket, or the Duplex that a caller's connect function gives in its place, which may lack some of these. */
export interface Transport extends Duplex {
  /** Not connected yet; undefined for a Duplex. */
  readonly connecting?: boolean
  readonly bytesRead: number
  readonly bytesWritten: number
  setNoDelay?(isOn: boolean): unknown
  /** @param initialDelay milliseconds */
  setKeepAlive?(isOn: boolean, initialDelay: number): unknown
  ref(): unknown
  unref(): unknown
  /** The local address, as `net.Socket` has it. */
  address(): AddressInfo | Record<string, never>
}

/** Bytes read from it; null when a caller's stand-in for a socket doesn't count them. */
export function toBytesRead(transport: Transport): number | null {
  const bytes: unknown = transport.bytesRead
  return typeof bytes === 'number' ? bytes : null
}
