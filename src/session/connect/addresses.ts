/**
 * The addresses of a name: what a lookup may return, and which of them are left for a second attempt.
 *
 * @module
 */

import type { LookupAddress } from 'node:dns'
import type { LookupFunction, Socket } from 'node:net'
import type { ConnectTlsOptions } from '../../../types/client.ts'
import { toIpVersion } from '../../core/ip-address.ts'
import { originalNextTick } from '../../core/original-timers.ts'

/** The error for a name without addresses, with the code of the system's own lookup. */
function toNoAddress(hostname: string): Error {
  const error = new Error(`The lookup function returned no address for ${hostname}`)
  return Object.assign(error, { code: 'ENOTFOUND', syscall: 'lookup', hostname })
}

/** Whether `net.connect()` accepts it: anything else, such as an empty list, is an uncaught exception there. */
function isLookupResult(given: unknown, isList: boolean): boolean {
  if (!isList || !Array.isArray(given)) return typeof given === 'string' && given !== ''
  return given.length > 0 && given.every((each) => typeof each === 'object' && each !== null)
}

/**
 * Wraps a caller's lookup function so that it calls back once, always later, and with an address or an error. If it
 * called back during the call, and the address failed at once, the socket would be destroyed before `tls.connect()`
 * has set it up: then that throws, and the socket's error is an uncaught exception.
 */
export function toCheckedLookup(lookup: LookupFunction): LookupFunction {
  return (hostname, options, callback) => {
    let hasCalled = false
    lookup(hostname, options, (error, address, family) => {
      if (hasCalled) return
      hasCalled = true
      const isGood = Boolean(error) || isLookupResult(address, options.all === true)
      originalNextTick(callback, isGood ? error : toNoAddress(hostname), address, family)
    })
  }
}

/**
 * The address family of `localAddress`; undefined for either. With a `localAddress`, Node doesn't try a name's
 * addresses one after the other: it uses the first one, and binding fails if the families differ.
 */
export function toFamily({ localAddress = '' }: ConnectTlsOptions): number | undefined {
  return toIpVersion(localAddress) || undefined
}

/** A lookup function that returns these addresses. */
export function toFixedLookup(addresses: readonly LookupAddress[]): LookupFunction {
  return (_hostname, options, callback) => {
    const [first] = addresses
    if (options.all === true) originalNextTick(callback, null, [...addresses])
    else originalNextTick(callback, null, first?.address ?? '', first?.family)
  }
}

/** A lookup function that fails: the name was looked up before. */
export function toFailedLookup(error: Error): LookupFunction {
  return (_hostname, _options, callback) => originalNextTick(callback, error, '')
}

/** Notes a name's addresses as a socket looks them up. */
export class FoundAddresses {
  readonly #found: LookupAddress[] = []

  constructor(socket: Socket) {
    socket.on('lookup', (error: Error | null, address: string, family: string | number | null) => {
      if (error === null && (family === 4 || family === 6)) this.#found.push({ address, family })
    })
  }

  /** All but the one that the socket is connected to, the other family's first. */
  toOthers({ remoteAddress, remoteFamily }: Socket): LookupAddress[] {
    const isSame = ({ family }: LookupAddress): boolean => `IPv${family}` === remoteFamily
    const others = this.#found.filter(({ address }) => address !== remoteAddress)
    return others.sort((one, other) => Number(isSame(one)) - Number(isSame(other)))
  }
}
