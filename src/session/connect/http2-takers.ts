/**
 * Where a connection of the fallback goes that has chosen HTTP/2.
 *
 * @module
 */

import type { Socket } from 'node:net'
import type { ConnectorOptions } from '../../../types/client.ts'
import type { Origin } from '../../core/options.ts'

/** The sessions of one origin, as the fallback's connections see them. */
export interface Http2Taker {
  /** Whether a connection that is made for HTTP/1.1 may choose HTTP/2: then both are offered. */
  readonly mayChooseHttp2: boolean
  /** A connection that was offered both has chosen HTTP/1.1. */
  onHttp1Chosen(): void
  /** A connection that was offered both has chosen HTTP/2. It belongs to the taker from now on. */
  takeHttp2(socket: Socket): void
}

/**
 * The origins that one fallback serves. A protocol is a property of a connection: behind one address there may be
 * servers of HTTP/2 and of HTTP/1.1, and one that spoke HTTP/1.1 may speak HTTP/2 after a roll-out.
 */
export class Http2Takers {
  readonly #takers = new Map<string, Http2Taker>()
  readonly #taken = new WeakSet<Error>()

  /** @param servername of the connections to the origin */
  add(origin: Origin, servername: string, taker: Http2Taker): void {
    this.#takers.set(toKey(origin.href, servername), taker)
  }

  delete(origin: Origin, servername: string, taker: Http2Taker): void {
    const key = toKey(origin.href, servername)
    if (this.#takers.get(key) === taker) this.#takers.delete(key)
  }

  /** Whoever takes a connection that is made with these options if it chooses HTTP/2; null: it must not choose that. */
  find({ protocol, host, hostname, servername }: ConnectorOptions): Http2Taker | null {
    if (protocol !== 'https:') return null
    const taker = this.#takers.get(toKey(`https://${host ?? hostname}`, servername ?? hostname)) ?? null
    return taker?.mayChooseHttp2 === true ? taker : null
  }

  /** @param error what the fallback gets in place of a connection */
  noteTaken(error: Error): void {
    this.#taken.add(error)
  }

  /** Whether a connection has failed for the fallback because it speaks HTTP/2, and has a taker. */
  wasTaken(error: Error): boolean {
    return this.#taken.has(error)
  }
}

function toKey(href: string, servername: string): string {
  return `${href} ${servername}`
}
