/** A client's end of a WebSocket, of any implementation: the members that the tests use, with promises. */

import type { Agent, ProxyAgent } from '../../src/index.ts'

/** What the WebSockets of Node and of undici have in common. */
export interface ClientSocket {
  binaryType: string
  readonly bufferedAmount: number
  readonly extensions: string
  readonly protocol: string
  readonly readyState: number
  send(data: string | Uint8Array): void
  close(code?: number, reason?: string): void
  addEventListener(type: 'open' | 'error', listener: () => void): void
  addEventListener(type: 'close', listener: (event: CloseFacts) => void): void
  addEventListener(type: 'message', listener: (event: { readonly data: unknown }) => void): void
}

export interface CloseFacts {
  readonly code: number
  readonly reason: string
  readonly wasClean: boolean
}

/** Without a dispatcher it takes the global one. */
export interface SocketOptions {
  readonly dispatcher?: Agent | ProxyAgent
  readonly protocols?: string[]
}

export type SocketClass = new (url: string, options: SocketOptions) => ClientSocket

/** The only text messages that are sent here come as strings, and binary ones as Buffers. */
export type Message = string | Buffer

/** One socket, and what it has heard. */
export class Talk {
  readonly socket: ClientSocket
  /** Rejects when the handshake fails. */
  readonly opened: Promise<void>
  readonly closed: Promise<CloseFacts>
  /** In their order: `open`, `error`, `close`. */
  readonly events: string[] = []
  readonly #messages: Message[] = []
  #onMessage: ((message: Message) => void) | null = null

  constructor(socketClass: SocketClass, url: string, options: SocketOptions) {
    const socket = new socketClass(url, options)
    this.socket = socket
    socket.binaryType = 'arraybuffer'
    this.opened = new Promise((resolve, reject) => {
      socket.addEventListener('open', () => {
        this.events.push('open')
        resolve()
      })
      socket.addEventListener('error', () => {
        this.events.push('error')
        reject(new Error('The handshake failed'))
      })
    })
    // The test may not wait for this failure.
    this.opened.catch(() => {})
    this.closed = new Promise((resolve) => {
      socket.addEventListener('close', ({ code, reason, wasClean }) => {
        this.events.push('close')
        resolve({ code, reason, wasClean })
      })
    })
    socket.addEventListener('message', ({ data }) => this.#hear(toMessage(data)))
  }

  /** The next message. Messages are queued until they are read. */
  async next(): Promise<Message> {
    const message = this.#messages.shift()
    return (
      message ??
      new Promise((resolve) => {
        this.#onMessage = resolve
      })
    )
  }

  /** What comes back. */
  async echo(message: Message): Promise<Message> {
    this.socket.send(message)
    return this.next()
  }

  #hear(message: Message): void {
    const onMessage = this.#onMessage
    this.#onMessage = null
    if (onMessage === null) this.#messages.push(message)
    else onMessage(message)
  }
}

function toMessage(data: unknown): Message {
  if (typeof data === 'string') return data
  if (data instanceof ArrayBuffer) return Buffer.from(data)
  throw new Error(`A message of ${typeof data} came`)
}
