import { once } from 'node:events'
import type { IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2'
import type { Socket } from 'node:net'
import { createConnection } from 'node:net'
import { onTestFinished } from 'vitest'
import { LivingDispatcher } from '../../../src/dispatcher/life-cycle.ts'
import { toClientOptions, toOrigin } from '../../../src/options/options.ts'
import { CallScheduler } from '../../../src/scheduler/call-scheduler.ts'
import type { ConnectionEvents } from '../../../src/scheduler/connection-events.ts'
import { OriginMemory } from '../../../src/session/origin-memory.ts'
import type { ClientOptions, DispatchHandler, DispatchOptions } from '../../../types/index.ts'
import { Recorder } from '../../support/clients/recorder.ts'
import { FakeClock } from '../../support/clocks/fake-clock.ts'
import type { StreamListener, TestServer } from '../../support/servers/server.ts'
import { startServer } from '../../support/servers/server.ts'
import { Gate } from './gate.ts'

/** A client with a fake clock. */
export class MatrixClient extends LivingDispatcher implements ConnectionEvents {
  readonly scheduler: CallScheduler

  constructor(origin: string, options: ClientOptions, clock: FakeClock) {
    const resolved = toClientOptions(options)
    super(clock, resolved)
    const memory = new OriginMemory(clock)
    const connections = { sessions: 1, http1: 1 }
    this.scheduler = new CallScheduler(toOrigin(origin), resolved, connections, clock, memory, this)
  }

  /** How many calls there are, and how many of them may be late. */
  get load(): { pending: number; running: number; timed: number } {
    const { pending, running, deadlines } = this.scheduler
    return { pending, running, timed: deadlines.size }
  }

  protected override dispatchChecked(options: DispatchOptions, handler: DispatchHandler): boolean {
    return this.scheduler.add(options, handler)
  }

  protected override finish(): Promise<void> {
    return this.scheduler.whenIdle()
  }

  protected override tearDown(error: Error | null, isGraceful: boolean): Promise<void> {
    return this.scheduler.destroy(error, isGraceful)
  }

  onConnect(): void {}
  onDisconnect(): void {}
  onConnectionError(): void {}
  onDrain(): void {}
}

/** A call beside the case. */
export interface Sibling {
  readonly path: string
  readonly recorder: Recorder
  /** The server has its stream. */
  readonly arrived: Promise<ServerHttp2Stream>
}

/** Only the limit of the case fires. Yet every clock runs, so that one that isn't stopped is found. */
const FAR_OFF = 2 ** 30
const FAR_LIMITS = {
  queueTimeout: FAR_OFF,
  connectTimeout: FAR_OFF,
  headersTimeout: FAR_OFF,
  bodyTimeout: FAR_OFF,
  uploadTimeout: FAR_OFF,
  requestTimeout: FAR_OFF,
}

/** The stream of the case, and that of its running sibling: a leaked stream would hold up all later calls. */
const STREAMS = 2

/** A server, a client, and what the server has seen of the client. */
export class Rig {
  readonly server: TestServer
  readonly client: MatrixClient
  readonly clock: FakeClock
  /** Every stream of the server that isn't closed. */
  readonly streams = new Set<ServerHttp2Stream>()
  /** Raw connections of the server. */
  readonly sockets: Socket[]
  /** Connections are made while it is open. */
  readonly door: Gate
  /** How many requests the server got for each path. */
  readonly requests: Map<string, number>
  readonly #listeners: Map<string, (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => void>

  private constructor(
    server: TestServer,
    door: Gate,
    sockets: Socket[],
    listeners: Map<string, StreamListener>,
    options: ClientOptions,
  ) {
    this.server = server
    this.door = door
    this.sockets = sockets
    this.#listeners = listeners
    this.requests = new Map()
    this.clock = new FakeClock()
    const port = Number(new URL(server.origin).port)
    const connect = async (): Promise<Socket> => {
      await door.opened
      const socket = createConnection(port, '127.0.0.1')
      await once(socket, 'connect')
      return socket
    }
    const streams = { maxConcurrentStreams: STREAMS }
    this.client = new MatrixClient(
      server.origin,
      { ...FAR_LIMITS, ...streams, ...options, connect },
      this.clock,
    )
    server.server.on('stream', (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => {
      this.streams.add(stream)
      stream.on('close', () => this.streams.delete(stream))
      const path = toPath(headers)
      this.requests.set(path, (this.requests.get(path) ?? 0) + 1)
    })
  }

  /** @param isOpen whether the client may connect at once */
  static async start(options: ClientOptions, isOpen: boolean): Promise<Rig> {
    const listeners = new Map<string, StreamListener>()
    const door = new Gate()
    if (isOpen) door.open()
    const sockets: Socket[] = []
    const server = await startServer((stream, headers) => listeners.get(toPath(headers))?.(stream, headers), {
      settings: { enableConnectProtocol: true },
    })
    server.server.on('connection', (socket: Socket) => sockets.push(socket))
    const rig = new Rig(server, door, sockets, listeners, options)
    onTestFinished(async () => {
      door.open()
      await rig.client.destroy()
    })
    return rig
  }

  /** Cuts the connection, without any frame. */
  breakOff(): void {
    this.sockets.at(-1)?.destroy()
  }

  /** What the server does with requests of a path from now on. */
  serve(path: string, listener: StreamListener): void {
    this.#listeners.set(path, listener)
  }

  /** A GET beside the case. The code that waits for its stream plays the server. */
  ask(path: string): Sibling {
    const arrived = new Promise<ServerHttp2Stream>((resolve) => this.serve(path, resolve))
    const recorder = new Recorder()
    this.client.dispatch({ path, method: 'GET' }, recorder)
    return { path, recorder, arrived }
  }
}

/** A CONNECT has no path: only the case makes one. */
function toPath(headers: IncomingHttpHeaders): string {
  return headers[':path'] ?? '/case'
}
