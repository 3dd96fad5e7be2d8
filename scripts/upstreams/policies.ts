/**
 * The ways to choose an upstream that are compared: Dodici's, as `src/dispatcher/upstream/` has it, and three others.
 *
 * @module
 */

import { HeadersTimeoutError } from '../../src/errors/errors.ts'
import { Dodici } from './dodici.ts'
import { send } from './transport.ts'
import type { Server, VirtualTime } from './world.ts'

/** The result of one call: whether its caller got a 2xx. */
export type OnDone = (isGood: boolean) => void

/** Sends calls to servers. */
export interface Policy {
  call(onDone: OnDone): void
  /** A response begins at once, and never ends. It is no work for its server. */
  openStream(): void
  /** A server joins. */
  add(server: Server): void
}

/** A policy that only chooses. A call that gets no response is sent once more, to another server, as many proxies do. */
abstract class Chooser implements Policy {
  protected readonly servers: Chosen[] = []
  readonly #time: VirtualTime

  constructor(time: VirtualTime) {
    this.#time = time
  }

  add(server: Server): void {
    this.servers.push(new Chosen(server))
  }

  call(onDone: OnDone): void {
    this.#send(null, onDone)
  }

  openStream(): void {
    this.choose().inFlight++
  }

  protected abstract choose(): Chosen

  /** It was told of what became of a request. */
  protected onError(_server: Chosen): void {}

  protected onConnect(_server: Chosen): void {}

  #send(failed: Chosen | null, onDone: OnDone): void {
    let server = this.choose()
    // The next ones in turn, where the choice is the same again.
    for (let i = 0; server === failed && i < 8; i++) server = this.choose()
    server.inFlight++
    send(this.#time, server.server, (status, _retryAfter, error) => {
      server.inFlight--
      if (error === null) {
        if (server.isDown) this.onConnect(server)
        server.isDown = false
        onDone(status >= 200 && status < 300)
        return
      }
      if (!(error instanceof HeadersTimeoutError)) {
        server.isDown = true
        this.onError(server)
      }
      if (failed === null) this.#send(server, onDone)
      else onDone(false)
    })
  }
}

class Chosen {
  readonly server: Server
  inFlight = 0
  /** undici's: from 1 to 100. */
  weight = 100
  /** Its last connection was refused or lost. */
  isDown = false

  constructor(server: Server) {
    this.server = server
  }
}

function at(servers: readonly Chosen[], index: number): Chosen {
  const server = servers[index]
  if (server === undefined) throw new Error('There is a server')
  return server
}

/** One after the other. */
class RoundRobin extends Chooser {
  #index = -1

  protected override choose(): Chosen {
    this.#index = (this.#index + 1) % this.servers.length
    return at(this.servers, this.#index)
  }
}

/** Of two at random the one with fewer requests in flight, as Envoy's LEAST_REQUEST. */
class LeastRequest extends Chooser {
  readonly #random: () => number

  constructor(time: VirtualTime, random: () => number) {
    super(time)
    this.#random = random
  }

  protected override choose(): Chosen {
    const count = this.servers.length
    const first = Math.floor(this.#random() * count)
    const second = (first + 1 + Math.floor(this.#random() * (count - 1))) % count
    const [one, two] = [at(this.servers, first), at(this.servers, second)]
    return two.inFlight < one.inFlight ? two : one
  }
}

/** The choice of undici's BalancedPool: its weights fall by 15 with a connection that fails, and rise with one that opens. */
class BalancedPool extends Chooser {
  #index = -1
  #weight = 0

  protected override choose(): Chosen {
    const { servers } = this
    let best = -1
    for (let i = 0; i < servers.length; i++) {
      this.#index = (this.#index + 1) % servers.length
      if (this.#index === 0) {
        this.#weight -= servers.reduce((divisor, { weight }) => toDivisor(weight, divisor), 0)
        if (this.#weight <= 0) this.#weight = 100
      }
      const server = at(servers, this.#index)
      if (best === -1 || server.weight > at(servers, best).weight) best = this.#index
      if (server.weight >= this.#weight) return server
    }
    this.#weight = at(servers, best).weight
    this.#index = best
    return at(servers, best)
  }

  protected override onError(server: Chosen): void {
    server.weight = Math.max(1, server.weight - 15)
  }

  protected override onConnect(server: Chosen): void {
    server.weight = Math.min(100, server.weight + 15)
  }
}

function toDivisor(a: number, b: number): number {
  return b === 0 ? a : toDivisor(b, a % b)
}

/** Makes a policy. */
export type PolicyMaker = (time: VirtualTime, random: () => number) => Policy

/** By the names that the table has. */
export const POLICIES: Readonly<Record<string, PolicyMaker>> = {
  UpstreamPool: (time, random) => new Dodici(time, random),
  'round robin': (time) => new RoundRobin(time),
  'least request': (time, random) => new LeastRequest(time, random),
  BalancedPool: (time) => new BalancedPool(time),
}

/** An UpstreamPool without hedging, and with it. */
export const HEDGING: Readonly<Record<string, PolicyMaker>> = {
  'without `hedge`': (time, random) => new Dodici(time, random),
  "`hedge: { after: 'p95' }`": (time, random) => new Dodici(time, random, { hedge: { after: 'p95' } }),
}
