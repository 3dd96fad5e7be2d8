/** The places of a caller's code from which a client may be used again, and what is looked at afterwards. */

import type { Channel } from 'node:diagnostics_channel'
import { channel } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { connect } from 'node:net'
import { expect, onTestFinished } from 'vitest'
import type { Client } from '../../src/index.ts'
import type { ConnectionScript } from '../../src/testing/fault-connection.ts'
import type { FaultServer } from '../../src/testing/fault-server.ts'
import type { ClientOptions, Connector, DispatchOptions } from '../../types/index.ts'
import { Recorder } from '../support/clients/recorder.ts'
import { CANCEL } from '../support/peers/error-codes.ts'

type Hook = 'onRequestStart' | 'onRequestSent' | 'onBodySent' | 'onResponseStart' | 'onResponseEnd'
type ErrorHook = 'onResponseError'

/** A handler that does something more in one of its methods. */
export class Reentrant extends Recorder {
  readonly #hook: Hook | ErrorHook | null
  readonly #act: () => void

  constructor(hook: Hook | ErrorHook | null = null, act: () => void = () => {}) {
    super()
    this.#hook = hook
    this.#act = act
  }

  /** How often its handler has heard of an end. */
  get ends(): number {
    return this.events.filter((event) => event === 'end' || event === 'error').length
  }

  override onRequestStart(...args: Parameters<Recorder['onRequestStart']>): void {
    super.onRequestStart(...args)
    this.#do('onRequestStart')
  }

  onRequestSent(): void {
    this.#do('onRequestSent')
  }

  onBodySent(): void {
    this.#do('onBodySent')
  }

  override onResponseStart(...args: Parameters<Recorder['onResponseStart']>): void {
    super.onResponseStart(...args)
    this.#do('onResponseStart')
  }

  override onResponseEnd(...args: Parameters<Recorder['onResponseEnd']>): void {
    super.onResponseEnd(...args)
    this.#do('onResponseEnd')
  }

  override onResponseError(...args: Parameters<Recorder['onResponseError']>): void {
    super.onResponseError(...args)
    this.#do('onResponseError')
  }

  #do(hook: Hook | ErrorHook): void {
    if (hook === this.#hook) this.#act()
  }
}

/** A client, its peer, and every call that it was given. */
export class Scene {
  readonly client: Client
  readonly peer: FaultServer
  readonly calls: Reentrant[] = []

  constructor(client: Client, peer: FaultServer) {
    this.client = client
    this.peer = peer
  }

  /** The same as `ask()` of the rig; false when the client is busy. */
  ask(what: string, handler = new Reentrant(), options: Partial<DispatchOptions> = {}): boolean {
    const [method = 'GET', path = '/'] = what.split(' ')
    const body = method === 'POST' ? { body: 'body' } : {}
    this.calls.push(handler)
    return this.client.dispatch({ method, path, ...body, ...options }, handler)
  }

  /** Every call has settled, and its handler has heard of that once; nothing is left in the stats. */
  async settle(): Promise<void> {
    let count = -1
    // Those that were dispatched meanwhile, too.
    while (count !== this.calls.length) {
      count = this.calls.length
      await Promise.all(this.calls.map(({ settled }) => settled))
    }
    for (const call of this.calls) expect(call.ends, call.events.join()).toBe(1)
    expect(this.client.stats).toMatchObject({ pending: 0, running: 0, size: 0 })
  }

  /** Nothing is connected any more, on either side. */
  async expectGone(): Promise<void> {
    await this.#untilAccepted()
    await expect
      .poll(() => this.peer.connections.filter(({ hasEnded, isClosed }) => !hasEnded && !isClosed))
      .toEqual([])
    expect(this.client.stats.sessions).toEqual([])
  }

  /** Connections are taken in their order: what was dialled before this one is among the peer's by then. */
  async #untilAccepted(): Promise<void> {
    const { peer } = this
    const socket = connect(Number(new URL(peer.origin).port), '127.0.0.1')
    onTestFinished(() => void socket.destroy())
    const accepted = await once(socket, 'connect').then(() => socket.localPort)
    await peer.waitFor(() => peer.connections.some((each) => each.socket.remotePort === accepted))
    peer.connections.splice(
      peer.connections.findIndex((each) => each.socket.remotePort === accepted),
      1,
    )
    socket.destroy()
  }
}

/** Somewhere in the caller's code from which a client may be used again. */
export interface Place {
  readonly name: string
  /** How many connections there are at the end of it. @default 1 */
  readonly connections?: number
  /** Options that the client needs to have; `act` is to be called from within. */
  readonly toOptions?: (act: () => void) => ClientOptions
  /** Makes `act` happen, once or more often. */
  readonly enter: (scene: Scene, act: () => void) => void
}

export function listenOnce(to: Channel, act: () => void): void {
  const listener = (): void => {
    to.unsubscribe(listener)
    act()
  }
  to.subscribe(listener)
  onTestFinished(() => void to.unsubscribe(listener))
}

/**
 * A connector that does something first, once, and calls back at once: with an error the first time, where that is
 * wanted.
 */
function toConnector(act: () => void, fails: boolean): Connector {
  let isFirst = true
  return ({ port }, callback) => {
    const wasFirst = isFirst
    isFirst = false
    if (wasFirst) act()
    if (wasFirst && fails) callback(new Error('no way'))
    else callback(null, connect(Number(port), '127.0.0.1'))
  }
}

export const NOTHING = (): void => {}

const HOOKS: [hook: Hook, what: string][] = [
  ['onRequestStart', 'GET /'],
  ['onRequestSent', 'GET /'],
  ['onRequestSent', 'POST /'],
  ['onBodySent', 'POST /'],
  ['onResponseStart', 'GET /'],
  ['onResponseEnd', 'GET /'],
]

export const PLACES: Place[] = [
  ...HOOKS.map(
    ([hook, what]): Place => ({
      name: `${hook} of a ${what.split(' ')[0]}`,
      enter: (scene, act) => scene.ask(what, new Reentrant(hook, act)),
    }),
  ),
  {
    name: 'onResponseError',
    enter: (scene, act) => scene.ask('POST /reset', new Reentrant('onResponseError', act)),
  },
  {
    name: 'a body factory',
    enter: (scene, act) => {
      const body = (): string => {
        act()
        return 'made'
      }
      scene.ask('PUT /', new Reentrant(), { body })
    },
  },
  {
    name: 'a connect function',
    toOptions: (act) => ({ connect: toConnector(act, false) }),
    enter: (scene) => scene.ask('GET /'),
  },
  ...['dodici:session:open', 'undici:client:beforeConnect', 'dodici:session:ready'].map(
    (name): Place => ({
      name: `a subscriber of ${name}`,
      enter: (scene, act) => {
        listenOnce(channel(name), act)
        scene.ask('GET /')
      },
    }),
  ),
  {
    name: "a listener of 'connect'",
    enter: (scene, act) => {
      scene.client.once('connect', act)
      scene.ask('GET /')
    },
  },
  ...['disconnect', 'dodici:session:closed', 'dodici:session:draining'].map(
    (name): Place => ({
      name: name === 'disconnect' ? "a listener of 'disconnect'" : `a subscriber of ${name}`,
      connections: 2,
      enter: (scene, act) => {
        if (name === 'disconnect') scene.client.once('disconnect', act)
        else listenOnce(channel(name), act)
        scene.ask('POST /retire')
      },
    }),
  ),
  {
    name: "a listener of 'connectionError'",
    toOptions: () => ({ connect: toConnector(NOTHING, true) }),
    enter: (scene, act) => {
      scene.client.once('connectionError', act)
      scene.ask('GET /')
    },
  },
  {
    name: "a listener of 'drain'",
    enter: (scene, act) => {
      scene.client.once('drain', act)
      expect(scene.ask('GET /')).toBe(false)
    },
  },
]

/** Responds to each request, except to those that are to be reset or to be the last on their connection. */
export const PEER: ConnectionScript = {
  onComplete: (stream, connection) => {
    if (stream.path === '/reset') stream.reset(CANCEL)
    else stream.respond()
    if (stream.path === '/retire') connection.goAway({ lastStreamId: stream.id, code: 0 })
  },
}
