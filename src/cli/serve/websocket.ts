/**
 * A WebSocket that sends each message back (RFC 6455), over an HTTP/2 stream (RFC 8441) or a socket.
 *
 * @module
 */

import type { Duplex } from 'node:stream'

const OPCODE = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const

/** From here on, opcodes belong to control frames. */
const FIRST_CONTROL = 8

const FIN = 0x80
const MASKED = 0x80

/** RFC 6455 §7.4.1. */
const PROTOCOL_ERROR = 1002
const TOO_BIG = 1009

/** The longest frame that is sent back, in bytes. A message may have any number of them. */
export const MAX_FRAME_SIZE = 16 * 1024 * 1024

/** RFC 6455 §5.5: the longest control frame. */
const MAX_CONTROL_SIZE = 125

/** One of a client's frames. */
interface Frame {
  /** FIN, and the opcode. */
  readonly first: number
  readonly payload: Buffer
}

/** Why a WebSocket is closed: a Close frame's status code. */
class Failure extends Error {
  readonly code: number

  constructor(code: number, message: string) {
    super(message)
    this.code = code
  }
}

/** Sends frames back until the client closes the WebSocket, violates the rules, or leaves. */
export async function echoMessages(duplex: Duplex): Promise<void> {
  try {
    for await (const frame of readFrames(duplex)) {
      const opcode = frame.first & 0x0f
      if (opcode === OPCODE.pong) continue
      const first = opcode === OPCODE.ping ? FIN | OPCODE.pong : frame.first
      await write(duplex, toFrame(first, frame.payload))
      if (opcode === OPCODE.close) break
    }
  } catch (error) {
    // Otherwise the client has left.
    if (error instanceof Failure) await write(duplex, toCloseFrame(error))
  }
  duplex.end()
}

/** A client's frames, unmasked. The meaning of a fragment is left to the client, which gets it back. */
async function* readFrames(duplex: Duplex): AsyncGenerator<Frame> {
  const input = new Input(duplex)
  for (;;) {
    const head = await input.take(2)
    if (head === null) return
    const first = head.readUInt8(0)
    const second = head.readUInt8(1)
    const size = await readSize(input, second & 0x7f)
    checkHead(first, second, size)
    const mask = await input.take(4)
    const payload = mask === null ? null : await input.take(size)
    if (mask === null || payload === null) return
    for (let index = 0; index < payload.length; index++) {
      payload[index] = (payload[index] ?? 0) ^ (mask[index & 3] ?? 0)
    }
    yield { first, payload }
  }
}

/** RFC 6455 §5.2: 126 and 127 mean that the size follows, in two or eight bytes. */
async function readSize(input: Input, short: number): Promise<number> {
  if (short < 126) return short
  const bytes = await input.take(short === 126 ? 2 : 8)
  if (bytes === null) return 0
  return short === 126 ? bytes.readUInt16BE(0) : Number(bytes.readBigUInt64BE(0))
}

function checkHead(first: number, second: number, size: number): void {
  const opcode = first & 0x0f
  const isKnown = Object.values(OPCODE).some((known) => known === opcode)
  // No extension was negotiated, and clients mask what they send (§5.1).
  if ((first & 0x70) !== 0 || !isKnown) throw new Failure(PROTOCOL_ERROR, 'unknown frame')
  if ((second & MASKED) === 0) throw new Failure(PROTOCOL_ERROR, 'not masked')
  const isWhole = (first & FIN) !== 0 && size <= MAX_CONTROL_SIZE
  if (opcode >= FIRST_CONTROL && !isWhole) throw new Failure(PROTOCOL_ERROR, 'control frame')
  if (size > MAX_FRAME_SIZE) throw new Failure(TOO_BIG, `more than ${MAX_FRAME_SIZE} bytes`)
}

/** RFC 6455 §5.2: servers don't mask. */
function toFrame(first: number, payload: Buffer): Buffer {
  const { length } = payload
  if (length < 126) return Buffer.concat([Buffer.of(first, length), payload])
  if (length < 65_536) return Buffer.concat([Buffer.of(first, 126, length >> 8, length & 0xff), payload])
  const head = Buffer.alloc(10)
  head.writeUInt8(first, 0)
  head.writeUInt8(127, 1)
  head.writeBigUInt64BE(BigInt(length), 2)
  return Buffer.concat([head, payload])
}

function toCloseFrame({ code, message }: Failure): Buffer {
  return toFrame(FIN | OPCODE.close, Buffer.concat([Buffer.of(code >> 8, code & 0xff), Buffer.from(message)]))
}

/** Settles when the client has room again, or has left. */
function write(duplex: Duplex, bytes: Buffer): Promise<void> {
  if (duplex.destroyed || duplex.write(bytes)) return Promise.resolve()
  return new Promise((resolve) => {
    const onEvent = (): void => {
      duplex.off('drain', onEvent).off('close', onEvent)
      resolve()
    }
    duplex.on('drain', onEvent).on('close', onEvent)
  })
}

/** Bytes in parts of a wanted size. */
class Input {
  readonly #source: AsyncIterator<Buffer>
  #rest: Buffer[] = []
  #length = 0

  constructor(duplex: Duplex) {
    this.#source = duplex[Symbol.asyncIterator]()
  }

  /** Null if the source ends before that. The bytes belong to the caller. */
  async take(size: number): Promise<Buffer | null> {
    while (this.#length < size) {
      const { value, done } = await this.#source.next()
      if (done === true) return null
      this.#rest.push(value)
      this.#length += value.length
    }
    const all = Buffer.concat(this.#rest)
    this.#rest = [all.subarray(size)]
    this.#length -= size
    return all.subarray(0, size)
  }
}
