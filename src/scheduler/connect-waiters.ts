/**
 * Callers that wait for a connection, without a call for it yet.
 *
 * @module
 */

import type { HttpProtocol } from '../../types/connection.ts'

interface Waiter {
  readonly resolve: (protocol: HttpProtocol) => void
  readonly reject: (error: Error) => void
}

/** All of them get the same answer: the protocol that one connection has found. */
export class ConnectWaiters {
  #waiters: Waiter[] = []

  get size(): number {
    return this.#waiters.length
  }

  add(): Promise<HttpProtocol> {
    return new Promise((resolve, reject) => {
      this.#waiters.push({ resolve, reject })
    })
  }

  resolve(protocol: HttpProtocol): void {
    for (const { resolve } of this.#takeAll()) resolve(protocol)
  }

  reject(toError: () => Error): void {
    for (const { reject } of this.#takeAll()) reject(toError())
  }

  #takeAll(): readonly Waiter[] {
    const waiters = this.#waiters
    this.#waiters = []
    return waiters
  }
}
