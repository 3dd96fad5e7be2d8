/** For tests of bodies: a scripted peer, and an Agent that fetches from it. Both end with the test. */

import type { Agent } from '../../../src/index.ts'
import { fetch } from '../../../src/index.ts'
import type { ConnectionScript } from '../../../src/testing/fault-connection.ts'
import type { FaultServer } from '../../../src/testing/fault-server.ts'
import type { FaultStream } from '../../../src/testing/fault-stream.ts'
import { frames, Type } from '../../../src/testing/frames.ts'
import type { AgentOptions, FetchInit } from '../../../types/index.ts'
import { toAgent } from '../../support/clients/agents.ts'
import { startPeer } from '../../support/peers/peer-rig.ts'

export class Rig {
  readonly peer: FaultServer
  readonly agent: Agent

  constructor(peer: FaultServer, agent: Agent) {
    this.peer = peer
    this.agent = agent
  }

  get(path: string, init: FetchInit = {}): Promise<Response> {
    return fetch(`${this.peer.origin}${path}`, { dispatcher: this.agent, ...init })
  }

  /** Calls that have a stream, and calls that have none yet. */
  get calls(): { running: number; pending: number } {
    const { running = 0, pending = 0 } = this.agent.stats[this.peer.origin] ?? {}
    return { running, pending }
  }

  /** The newest request of a path, once it is there. */
  async arrived(path: string): Promise<FaultStream> {
    await this.peer.waitFor(() => this.peer.requests.some((one) => one.path === path))
    return this.peer.request(path)
  }

  /** The code of the client's RST_STREAM of a path, once it is there. */
  async resetOf(path: string): Promise<number | null> {
    await this.peer.waitFor(() => this.peer.request(path).resetCode !== null)
    return this.peer.request(path).resetCode
  }

  /** Settles when the client has read everything that was sent, and its reaction has come. */
  async roundTrip(): Promise<void> {
    await this.peer.connection(0).ping()
  }
}

/** With one connection: a disturbed session shows in all fetches. */
export async function startRig(script: ConnectionScript, options: AgentOptions = {}): Promise<Rig> {
  const peer = await startPeer(script)
  return new Rig(peer, toAgent({ connections: 1, ...options }))
}

/** The stream of a body. @throws Error where there is none */
export function toStream({ body }: Response): ReadableStream<Uint8Array<ArrayBuffer>> {
  if (body === null) throw new Error('There is no body')
  return body
}

/** The value with which a promise is rejected. @throws Error when it is fulfilled */
export async function toReason(promise: Promise<unknown>): Promise<unknown> {
  try {
    await promise
  } catch (reason) {
    return reason
  }
  throw new Error('It was fulfilled')
}

/** A promise, and the function that fulfils it. */
export function defer(): { promise: Promise<void>; resolve: () => void } {
  let fulfil = (): void => {}
  const promise = new Promise<void>((resolve) => {
    fulfil = resolve
  })
  return { promise, resolve: () => fulfil() }
}

/** A piece of a body, of any bytes. */
export function sendBytes({ peer }: Rig, path: string, bytes: Buffer): void {
  const { connection, id } = peer.request(path)
  connection.write(frames.frame(Type.DATA, 0, id, bytes))
}
