import { once } from 'node:events'
import type { AddressInfo, Socket } from 'node:net'
import { createServer } from 'node:net'
import { onTestFinished } from 'vitest'

/** Frame types of RFC 9113 §6. */
export const DATA = 0
export const HEADERS = 1
export const RST_STREAM = 3
const SETTINGS = 4
const PING = 6
const GOAWAY = 7
const WINDOW_UPDATE = 8

/** Flags. END_STREAM of a DATA or HEADERS frame is the ACK of the others. */
export const END_STREAM = 1
export const END_HEADERS = 4

const PREFACE_LENGTH = 24
const HEAD_LENGTH = 9

/** `:status: 200`, as HPACK's static table has it. */
const STATUS_200 = 0x88
/** `content-length`, likewise, with a value that isn't indexed. */
const CONTENT_LENGTH = [0x0f, 0x0d]

export interface Frame {
  readonly type: number
  readonly flags: number
  readonly streamId: number
  readonly payload: Buffer
}

function toUint32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}

/** Any frame at all, right or wrong. */
export function toFrame(
  type: number,
  flags: number,
  streamId: number,
  payload: Buffer = Buffer.alloc(0),
): Buffer {
  const head = Buffer.alloc(HEAD_LENGTH)
  head.writeUIntBE(payload.length, 0, 3)
  head[3] = type
  head[4] = flags
  head.writeUInt32BE(streamId, 5)
  return Buffer.concat([head, payload])
}

/** The frames that a test writes. */
export const frames = {
  settings(...entries: readonly (readonly [id: number, value: number])[]): Buffer {
    const payload = entries.map(([id, value]) => Buffer.concat([Buffer.from([0, id]), toUint32(value)]))
    return toFrame(SETTINGS, 0, 0, Buffer.concat(payload))
  },
  /** The header of a 200. */
  answer(streamId: number, flags = 0, contentLength: number | null = null): Buffer {
    const length = contentLength === null ? '' : String(contentLength)
    const field = contentLength === null ? [] : [...CONTENT_LENGTH, length.length]
    const block = Buffer.concat([Buffer.from([STATUS_200, ...field]), Buffer.from(length)])
    return toFrame(HEADERS, END_HEADERS | flags, streamId, block)
  },
  data(streamId: number, text: string, flags = 0): Buffer {
    return toFrame(DATA, flags, streamId, Buffer.from(text))
  },
  reset(streamId: number, code: number): Buffer {
    return toFrame(RST_STREAM, 0, streamId, toUint32(code))
  },
  goAway(lastStreamId: number, code: number): Buffer {
    return toFrame(GOAWAY, 0, 0, Buffer.concat([toUint32(lastStreamId), toUint32(code)]))
  },
  windowUpdate(streamId: number, increment: number): Buffer {
    return toFrame(WINDOW_UPDATE, 0, streamId, toUint32(increment))
  },
}

/** One connection of a peer that speaks HTTP/2 by the frame. */
export class FrameConnection {
  readonly socket: Socket
  /** All that came, but for SETTINGS, PING and WINDOW_UPDATE. */
  readonly frames: Frame[] = []
  readonly #onFrame: (frame: Frame, connection: FrameConnection) => void
  readonly #pings: (() => void)[] = []
  #bytes: Buffer = Buffer.alloc(0)
  #isGreeted = false

  constructor(socket: Socket, onFrame: (frame: Frame, connection: FrameConnection) => void) {
    this.socket = socket
    this.#onFrame = onFrame
    socket.on('error', () => {})
    socket.on('data', (bytes: Buffer) => this.#receive(bytes))
  }

  write(...pieces: Buffer[]): void {
    this.socket.write(Buffer.concat(pieces))
  }

  /** Settles when the other side has heard all that was written so far. */
  ping(): Promise<void> {
    return new Promise((resolve) => {
      this.#pings.push(resolve)
      this.write(toFrame(PING, 0, 0, Buffer.alloc(8)))
    })
  }

  /** The frames of one stream and type. */
  of(streamId: number, type: number): Frame[] {
    return this.frames.filter((frame) => frame.streamId === streamId && frame.type === type)
  }

  #receive(bytes: Buffer): void {
    this.#bytes = Buffer.concat([this.#bytes, bytes])
    if (!this.#isGreeted) {
      if (this.#bytes.length < PREFACE_LENGTH) return
      this.#bytes = this.#bytes.subarray(PREFACE_LENGTH)
      this.#isGreeted = true
    }
    while (this.#bytes.length >= HEAD_LENGTH) {
      const end = HEAD_LENGTH + this.#bytes.readUIntBE(0, 3)
      if (this.#bytes.length < end) return
      const [type, flags] = [this.#bytes.readUInt8(3), this.#bytes.readUInt8(4)]
      const payload = this.#bytes.subarray(HEAD_LENGTH, end)
      const frame = { type, flags, streamId: this.#bytes.readUInt32BE(5), payload }
      this.#bytes = this.#bytes.subarray(end)
      this.#take(frame)
    }
  }

  #take(frame: Frame): void {
    const isAck = (frame.flags & END_STREAM) !== 0
    if (frame.type === SETTINGS) {
      if (!isAck) this.write(toFrame(SETTINGS, END_STREAM, 0))
    } else if (frame.type === PING) {
      if (isAck) this.#pings.shift()?.()
    } else if (frame.type !== WINDOW_UPDATE) {
      this.frames.push(frame)
      this.#onFrame(frame, this)
    }
  }
}

/** A peer that says what the test writes, and that ends with it. */
export interface FramePeer {
  readonly origin: string
  /** Every one so far. */
  readonly connections: FrameConnection[]
}

/** Starts a peer that greets each connection, and acknowledges SETTINGS; all the rest is the test's. */
export async function startFramePeer(
  onFrame: (frame: Frame, connection: FrameConnection) => void,
  greeting: Buffer = frames.settings(),
): Promise<FramePeer> {
  const connections: FrameConnection[] = []
  const server = createServer((socket) => {
    const connection = new FrameConnection(socket, onFrame)
    connections.push(connection)
    connection.write(greeting)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    for (const { socket } of connections) socket.destroy()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return { origin: `http://127.0.0.1:${port}`, connections }
}
