/** A model server: it takes every connection, by a connector, over a Duplex or over the loopback interface. */

import { connect as connectSocket, Socket } from 'node:net'
import type { Connector } from '../../../types/index.ts'
import { Random } from '../../protocol/hpack/support.ts'
import { SocketLink, StandIn, StandInLink } from './link.ts'
import type { ModelPlan } from './model-plan.ts'
import type { ModelOwner } from './model-side.ts'
import { ModelSide } from './model-side.ts'
import type { Port } from './peer.ts'
import type { VirtualTime } from './virtual-time.ts'

/** Both ends of a connection over the loopback interface. */
interface Pair {
  readonly client: Socket
  readonly server: Socket
  readonly link: SocketLink
}

export class ModelServer {
  readonly sides: ModelSide[] = []
  /** The clients' ends. */
  readonly sockets: (StandIn | Socket)[] = []
  readonly #plan: ModelPlan
  readonly #owner: ModelOwner
  readonly #time: VirtualTime
  readonly #port: Port
  readonly #random: Random
  readonly #pairs: Pair[] = []

  constructor(plan: ModelPlan, owner: ModelOwner, time: VirtualTime, port: Port) {
    this.#plan = plan
    this.#owner = owner
    this.#time = time
    this.#port = port
    this.#random = new Random(plan.seed ^ 0x5eed)
    port.onSocket = (socket) => this.#accept(socket)
    port.onClientSocket = () => {}
  }

  readonly connector: Connector = (_options, callback) => {
    if (this.#plan.transport === 'duplex') {
      const side = this.#addSide()
      const socket = new StandIn(side, this.#time, this.#plan.takes)
      this.sockets.push(socket)
      side.start(new StandInLink(socket))
      // What stands in for a socket is a Duplex: the types speak of sockets alone, as undici's do.
      callback(null, socket as unknown as Socket)
      return
    }
    const socket = connectSocket(this.#port.number, '127.0.0.1')
    this.sockets.push(socket)
    socket.on('error', () => {})
    socket.once('connect', () => callback(null, socket))
  }

  /** Whether bytes, or the end of a connection, are on their way in the kernel. */
  get isBusy(): boolean {
    return this.#pairs.some(({ client, server, link }) => {
      if (server.destroyed) return !client.destroyed
      if (client.destroyed) return !link.hasHeardEnd
      return client.bytesRead < server.bytesWritten || server.bytesRead < client.bytesWritten
    })
  }

  /** Connections that went wrong are gone: a healthy server takes their place. */
  heal(): void {
    for (const side of this.sides) side.heal()
  }

  /** Nothing is left of a round that has failed. */
  destroy(): void {
    for (const socket of this.sockets) socket.on('error', () => {}).destroy()
    for (const side of this.sides) side.cut()
  }

  #accept(server: Socket): void {
    this.#time.touch()
    const client = this.sockets.find((one) => one instanceof Socket && one.localPort === server.remotePort)
    const side = this.#addSide()
    const link = new SocketLink(server, side, this.#time)
    if (client instanceof Socket) this.#pairs.push({ client, server, link })
    side.start(link)
  }

  /** One connection is wrong once; all others are right. */
  #addSide(): ModelSide {
    const { server } = this.#plan
    const plan = this.sides.length === 0 ? server : { ...server, violation: null }
    const random = new Random(this.#random.below(2 ** 31))
    const side = new ModelSide(this.sides.length, plan, this.#owner, this.#time, random)
    this.sides.push(side)
    return side
  }
}
