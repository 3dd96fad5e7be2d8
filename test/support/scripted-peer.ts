/**
 * A server that misbehaves on demand: it speaks HTTP/2 by the frame, does what its script says, and keeps a ledger of
 * all that reached it.
 *
 * @example
 * ```ts
 * // The first connection retires before it has taken a request, all others respond.
 * const peer = await ScriptedPeer.listen([
 *   { onConnection: (connection) => connection.goAway(0, 0, 'restarting') },
 *   { onRequest: (stream) => stream.respondWith('hello') },
 * ])
 * …
 * expect(peer.ledger).toEqual(['1/1 GET /'])
 * await peer.close()
 * ```
 */

import { once } from 'node:events'
import type { AddressInfo, Socket } from 'node:net'
import { createServer } from 'node:net'
import type { Duplex } from 'node:stream'
import { PairedDuplex } from './duplex-pair.ts'
import type { PeerScript } from './scripted-peer-connection.ts'
import { PeerConnection } from './scripted-peer-connection.ts'
import type { PeerStream } from './scripted-peer-stream.ts'

/** How a peer listens. */
export interface PeerOptions {
  /** `https` where {@link PeerOptions.wrap} puts TLS on the sockets. @default 'http' */
  readonly scheme?: 'http' | 'https'
  /** Puts something between the socket and HTTP/2: TLS. */
  readonly wrap?: (socket: Socket) => Duplex
  /** How long `until()` is patient, in milliseconds: for the message of a test that fails. @default 10_000 */
  readonly patience?: number
}

interface Waiter {
  readonly condition: () => boolean
  readonly resolve: () => void
}

/** A listening peer, its connections, and what each of them has seen. */
export class ScriptedPeer {
  readonly origin: string
  /** Every one so far, in the order in which they came. */
  readonly connections: PeerConnection[] = []
  readonly #server: ReturnType<typeof createServer>
  readonly #scripts: readonly PeerScript[]
  readonly #options: PeerOptions
  #waiters: Waiter[] = []

  private constructor(
    server: ReturnType<typeof createServer>,
    scripts: readonly PeerScript[],
    options: PeerOptions,
  ) {
    const { port } = server.address() as AddressInfo
    const scheme = options.scheme ?? 'http'
    this.origin = `${scheme}://${scheme === 'https' ? 'localhost' : '127.0.0.1'}:${port}`
    this.#server = server
    this.#scripts = scripts
    this.#options = options
    server.on('connection', (socket) => this.#accept(socket, options.wrap?.(socket) ?? socket))
  }

  /**
   * Starts a peer on a free port of the loopback interface.
   *
   * @param scripts one for each connection in turn; the last is that of all further ones, too
   */
  static async listen(
    scripts: PeerScript | readonly PeerScript[],
    options: PeerOptions = {},
  ): Promise<ScriptedPeer> {
    // A socket that only the client has closed is a case of its own.
    const server = createServer({ allowHalfOpen: true })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    return new ScriptedPeer(server, 'length' in scripts ? scripts : [scripts], options)
  }

  /** Every request so far: by connection, and then in the order of their HEADERS. */
  get requests(): PeerStream[] {
    return this.connections.flatMap(({ streams }) => streams)
  }

  /** The same as text, such as `'0/1 GET /path'`: the connection from 0 on, the stream's id, the request. */
  get ledger(): string[] {
    return this.requests.map((stream) => `${stream.connection.index}/${stream.id} ${stream}`)
  }

  /** How often each request came: `{ 'GET /': 2 }`. */
  get counts(): Record<string, number> {
    const counts: Record<string, number> = {}
    for (const stream of this.requests) counts[`${stream}`] = (counts[`${stream}`] ?? 0) + 1
    return counts
  }

  /** One of its connections. @throws Error where there is none yet */
  connection(index: number): PeerConnection {
    const connection = this.connections[index]
    if (connection === undefined) throw new Error(`There were only ${this.connections.length} connections`)
    return connection
  }

  /** The newest request of a path. @throws Error where there is none yet */
  request(path: string): PeerStream {
    const stream = this.requests.findLast((one) => one.path === path)
    if (stream === undefined) throw new Error(`There is no ${path} among ${this.ledger.join(', ')}`)
    return stream
  }

  /** Settles as soon as something that came, or a connection that closed, has made it true. */
  until(condition: () => boolean): Promise<void> {
    if (condition()) return Promise.resolve()
    const { patience = 10_000 } = this.#options
    return new Promise((resolve, reject) => {
      const impatience = setTimeout(() => {
        const seen = this.ledger.slice(-20).join(', ')
        reject(new Error(`The peer never saw to it that ${condition}; the last that it saw: ${seen}`))
      }, patience)
      const done = (): void => {
        clearTimeout(impatience)
        resolve()
      }
      this.#waiters.push({ condition, resolve: done })
    })
  }

  /**
   * A connection without a socket, for a client whose connector yields any Duplex: the next one of the peer, with the
   * next script, in the clear. What either side writes comes in the same turn of the event loop.
   *
   * @returns the client's end. The peer's is `transport` of the newest of {@link ScriptedPeer.connections}, with no
   *   `socket`.
   */
  connect(): Duplex {
    const [near, far] = PairedDuplex.toPair()
    this.#accept(near, near)
    return far
  }

  /** Ends its connections, and takes no more. */
  async close(): Promise<void> {
    for (const { transport } of this.connections) transport.destroy()
    if (!this.#server.listening) return
    this.#server.close()
    await once(this.#server, 'close')
  }

  #accept(transport: Duplex, link: Duplex): void {
    const index = this.connections.length
    const script = this.#scripts[Math.min(index, this.#scripts.length - 1)] ?? {}
    const connection = new PeerConnection(index, transport, link, script, () => this.#tell())
    this.connections.push(connection)
    connection.greet()
    this.#tell()
  }

  #tell(): void {
    if (this.#waiters.length === 0) return
    const waiters = this.#waiters
    this.#waiters = []
    for (const waiter of waiters) {
      if (waiter.condition()) waiter.resolve()
      else this.#waiters.push(waiter)
    }
  }
}
