/** The peer of a round: it takes every connection, by a connector or on a port, and remembers them all. */

import { subscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import type { AddressInfo, Server } from 'node:net'
import { connect as connectSocket, createServer, Socket } from 'node:net'
import type { Connector, ConnectorCallback } from '../../../types/index.ts'
import { Random } from '../../protocol/hpack/support.ts'
import { SocketLink, StandIn, StandInLink } from './link.ts'
import { PeerSide } from './peer-side.ts'
import type { Plan } from './plan.ts'
import type { ConnectionPlan } from './plan-peer.ts'
import type { VirtualTime } from './virtual-time.ts'

/** The port that real connections go to: of whichever round is played. */
export class Port {
  onSocket: (socket: Socket) => void = (socket) => socket.destroy()
  /** Called with each client's socket, whether a connector or the client itself has made it. */
  onClientSocket: (socket: Socket) => void = () => {}
  readonly #server: Server

  private constructor(server: Server) {
    this.#server = server
    server.on('connection', (socket) => this.onSocket(socket))
    subscribe('net.client.socket', (message) => {
      this.onClientSocket((message as { readonly socket: Socket }).socket)
    })
  }

  static async open(): Promise<Port> {
    // The peer decides when its own side ends.
    const server = createServer({ allowHalfOpen: true })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    return new Port(server)
  }

  get number(): number {
    return (this.#server.address() as AddressInfo).port
  }

  close(): void {
    this.#server.close()
  }
}

/** A pair of sockets: the client's end, as far as it is known, and what was written at the other. */
interface Pair {
  readonly client: Socket | null
  readonly side: PeerSide
  readonly link: SocketLink
}

/** One round's peer. */
export class Peer {
  readonly sides: PeerSide[] = []
  /** What stands in for the client's sockets, and those that the harness has opened for it. */
  readonly sockets: (StandIn | Socket)[] = []
  readonly violations: string[] = []
  readonly #plan: Plan
  readonly #time: VirtualTime
  readonly #random: Random
  readonly #port: Port
  readonly #pairs: Pair[] = []
  readonly #plans = new Map<Socket, ConnectionPlan | null>()
  #isHealed = false
  /** Connections so far. */
  #made = 0

  constructor(plan: Plan, time: VirtualTime, port: Port) {
    this.#plan = plan
    this.#time = time
    this.#port = port
    this.#random = new Random(plan.seed ^ 0x5eed)
    port.onSocket = (socket) => this.#accept(socket)
    port.onClientSocket = (socket) => this.sockets.push(socket)
  }

  get origin(): string {
    return this.#plan.transport === 'own socket'
      ? `http://127.0.0.1:${this.#port.number}`
      : 'http://fuzz.example'
  }

  /** From now on, new connections get polite responses, and the existing ones nothing more. */
  heal(isCut: boolean): void {
    this.#isHealed = true
    for (const side of this.sides) {
      if (isCut) side.cut()
      else side.fallSilent()
    }
  }

  /** Nothing is left of a round that has failed. */
  destroy(): void {
    for (const socket of this.sockets) socket.on('error', () => {}).destroy()
    for (const side of this.sides) side.cut()
  }

  /** Whether bytes, or the end of a connection, are on their way in the kernel. */
  get isBusy(): boolean {
    return this.#pairs.some(({ client, side, link }) => {
      if (side.isClosed) return client !== null && !client.destroyed
      if (client === null || client.destroyed) return !link.hasHeardEnd
      return client.bytesRead < link.written
    })
  }

  readonly connector: Connector = (_options, callback) => {
    const plan = this.#next()
    switch (plan?.connects) {
      case 'late':
        this.#time.after(50, () => this.#connect(this.#isHealed ? null : plan, callback))
        break
      case 'fails':
        this.#time.after(1, () => callback(new Error('The connector has failed')))
        break
      case 'never':
        break
      default:
        this.#connect(plan, callback)
    }
  }

  /** Of a fallback: all its connections are polite. */
  readonly politeConnector: Connector = (_options, callback) => {
    if (this.#plan.engine === 'node') this.#connectSocket(null, callback)
    else this.#connectStandIn(null, callback)
  }

  #next(): ConnectionPlan | null {
    return this.#isHealed ? null : (this.#plan.connections[this.#made++] ?? null)
  }

  #connect(plan: ConnectionPlan | null, callback: ConnectorCallback): void {
    if (this.#plan.transport === 'socket') {
      this.#connectSocket(plan, callback)
    } else {
      this.#connectStandIn(plan, callback)
    }
  }

  #connectStandIn(plan: ConnectionPlan | null, callback: ConnectorCallback): void {
    const side = this.#addSide(plan)
    const socket = new StandIn(side, this.#time, plan?.takes ?? 'at once')
    this.sockets.push(socket)
    side.start(new StandInLink(socket))
    if (plan?.connects === 'closed') socket.destroy()
    // What stands in for a socket is a Duplex: the types speak of sockets alone, as undici's do.
    callback(null, socket as unknown as Socket)
  }

  #connectSocket(plan: ConnectionPlan | null, callback: ConnectorCallback): void {
    const socket = connectSocket(this.#port.number, '127.0.0.1')
    this.#plans.set(socket, plan)
    socket.on('error', () => {})
    socket.once('connect', () => callback(null, socket))
  }

  #accept(socket: Socket): void {
    this.#time.touch()
    const client = this.sockets.find((one) => one instanceof Socket && one.localPort === socket.remotePort)
    // The connector has the plan of its socket already.
    const known = client instanceof Socket ? this.#plans.get(client) : undefined
    const side = this.#addSide(this.#isHealed ? null : known === undefined ? this.#next() : known)
    const link = new SocketLink(socket, side, this.#time)
    this.#pairs.push({ client: client instanceof Socket ? client : null, side, link })
    side.start(link)
  }

  #addSide(plan: ConnectionPlan | null): PeerSide {
    const random = new Random(this.#random.below(2 ** 31))
    const isOfNode = this.#plan.engine === 'node'
    const owner = { isOfNode, onViolation: (what: string) => this.violations.push(what) }
    const side = new PeerSide(this.sides.length, plan, owner, this.#time, random)
    this.sides.push(side)
    return side
  }
}
