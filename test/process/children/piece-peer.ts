/**
 * A server of pieces, by the frame, plain and over TLS: each response is DATA frames of one size, as far as the windows
 * of the client let it. Its memory and its CPU time are not those of the client's process. Ends with its input.
 *
 * A request says by `x-plan` what it is to get. `/sent` says how much was sent of all that has the same key, once no
 * more of it can be sent.
 */
import type { AddressInfo, Socket } from 'node:net'
import { createServer } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import { gzipSync } from 'node:zlib'
import { FrameConnection } from '../../../src/testing/frame-connection.ts'
import type { Frame } from '../../../src/testing/frames.ts'
import { Flag, frames, Setting, Type, toSettings } from '../../../src/testing/frames.ts'
import { HpackDecoder } from '../../../src/testing/hpack.ts'
import type { PiecePlan } from './piece-plan.ts'
import { report } from './report.ts'

/** A frame type that no RFC has, nor any draft. */
const UNKNOWN_TYPE = 0xbb
/** Bytes that are written at once. */
const BATCH = 65_536
/** RFC 9113 §6.9.2. */
const FIRST_WINDOW = 65_535

/** One response that is being sent. */
interface Sending {
  readonly id: number
  readonly plan: PiecePlan
  readonly content: Buffer
  window: number
  sent: number
  pieces: number
  /** A portion is out, and the client hasn't acknowledged the PING behind it. */
  isWaiting: boolean
}

const connections = new Set<PieceConnection>()

function toContent({ total, encoding }: PiecePlan): Buffer {
  // Digits: they are JSON, too.
  const content = Buffer.alloc(total, '1')
  // Stored blocks: each byte that is sent is one that is decoded.
  return encoding === 'gzip' ? gzipSync(content, { level: 0 }) : content
}

class PieceConnection extends FrameConnection {
  readonly #decoder = new HpackDecoder()
  readonly #sendings = new Map<number, Sending>()
  /** Bytes of DATA, by the key of the plan. */
  readonly #sent = new Map<string, number>()
  /** The fields of requests whose body hasn't begun: a response before it would have them sent again. */
  readonly #begun = new Map<number, Readonly<Record<string, string>>>()
  readonly #closed = new Promise<void>((resolve) => this.transport.once('close', resolve))
  #window = FIRST_WINDOW
  #firstWindow = FIRST_WINDOW

  toSent(key: string): number {
    return this.#sent.get(key) ?? 0
  }

  /** Settles when nothing more can be sent, and the client has heard all that was. */
  async settle(): Promise<void> {
    for (let before = -1; !this.isClosed; ) {
      const total = [...this.#sent.values()].reduce((sum, bytes) => sum + bytes, 0)
      const isWaiting = [...this.#sendings.values()].some((sending) => sending.isWaiting)
      if (total === before && !isWaiting) return
      before = total
      await Promise.race([this.ping(), this.#closed])
    }
  }

  protected override receive(frame: Frame): void {
    super.receive(frame)
    const { type, flags, streamId, payload } = frame
    if (type === Type.SETTINGS && (flags & Flag.ACK) === 0) this.#resize(frame)
    else if (type === Type.WINDOW_UPDATE) {
      const sending = this.#sendings.get(streamId)
      if (streamId === 0) this.#window += payload.readUInt32BE()
      else if (sending !== undefined) sending.window += payload.readUInt32BE()
    } else if (type === Type.RST_STREAM) this.#sendings.delete(streamId)
    else if (type === Type.HEADERS) {
      const hasPriority = (flags & Flag.PRIORITY) !== 0
      const block = payload.subarray(hasPriority ? 5 : 0)
      const fields = Object.fromEntries(this.#decoder.decode(block))
      if (fields[':method'] === 'POST') this.#begun.set(streamId, fields)
      else this.#respond(streamId, fields)
    } else if (type === Type.DATA) {
      const fields = this.#begun.get(streamId)
      this.#begun.delete(streamId)
      if (fields !== undefined) this.#respond(streamId, fields)
    }
  }

  protected override onRead(): void {
    for (const sending of this.#sendings.values()) this.#send(sending)
  }

  protected override onEnd(): void {
    super.onEnd()
    this.end()
  }

  protected override onClose(): void {
    super.onClose()
    connections.delete(this)
  }

  #resize(frame: Frame): void {
    for (const [id, value] of toSettings(frame)) {
      if (id !== Setting.INITIAL_WINDOW_SIZE) continue
      for (const sending of this.#sendings.values()) sending.window += value - this.#firstWindow
      this.#firstWindow = value
    }
  }

  #respond(id: number, fields: Readonly<Record<string, string>>): void {
    if (fields[':path'] === '/sent') {
      void this.#tell(id, fields['x-key'] ?? '')
      return
    }
    const plan: PiecePlan = JSON.parse(fields['x-plan'] ?? '')
    const encoding = plan.encoding === undefined ? [] : [['content-encoding', plan.encoding] as const]
    this.write(frames.headers(id, [[':status', String(plan.status ?? 200)], ...encoding]))
    const content = toContent(plan)
    this.#sendings.set(id, {
      ...{ id, plan, content, window: this.#firstWindow },
      ...{ sent: 0, pieces: 0, isWaiting: false },
    })
  }

  async #tell(id: number, key: string): Promise<void> {
    for (const connection of connections) if (connection.#sent.has(key)) await connection.settle()
    const sent = [...connections].reduce((sum, connection) => sum + connection.toSent(key), 0)
    const fields = [':status 200', `x-sent ${sent}`].map((field) => field.split(' ') as [string, string])
    this.write(frames.headers(id, fields, Flag.END_STREAM))
  }

  #send(sending: Sending): void {
    const { id, plan, content } = sending
    let batch: Buffer[] = []
    let size = 0
    const from = sending.sent
    while (!sending.isWaiting && sending.sent < content.length) {
      const piece = content.subarray(sending.sent, sending.sent + plan.size)
      if (piece.length > Math.min(sending.window, this.#window)) break
      sending.sent += piece.length
      sending.window -= piece.length
      this.#window -= piece.length
      const isLast = plan.ends === true && sending.sent === content.length
      const data = frames.data(id, piece, isLast ? Flag.END_STREAM : 0)
      batch.push(data)
      size += data.length
      if (plan.junk > 0) {
        batch.push(frames.frame(UNKNOWN_TYPE, 0, id, Buffer.alloc(plan.junk)))
        size += plan.junk
      }
      if (size >= BATCH) {
        this.write(...batch)
        batch = []
        size = 0
      }
      sending.pieces++
      if (plan.portion !== undefined && sending.pieces % plan.portion === 0) this.#wait(sending)
    }
    if (batch.length > 0) this.write(...batch)
    if (sending.sent > from) this.#sent.set(plan.key, this.toSent(plan.key) + sending.sent - from)
    if (plan.ends === true && sending.sent === content.length) this.#sendings.delete(id)
  }

  #wait(sending: Sending): void {
    sending.isWaiting = true
    // Behind what is in the batch.
    setImmediate(async () => {
      await this.ping()
      sending.isWaiting = false
      this.#send(sending)
    })
  }
}

function serve(socket: Socket): void {
  const connection = new PieceConnection(socket)
  connections.add(connection)
  connection.announce([[Setting.MAX_CONCURRENT_STREAMS, 100]], () => {})
}

const [, , key = '', cert = ''] = process.argv
const fromBase64 = (text: string): string => Buffer.from(text, 'base64').toString()
const plain = createServer(serve).listen(0, '127.0.0.1')
const secure = createTlsServer({ key: fromBase64(key), cert: fromBase64(cert), ALPNProtocols: ['h2'] }, serve)
secure.on('tlsClientError', () => {})
secure.listen(0, '127.0.0.1', () => {
  const { port } = plain.address() as AddressInfo
  report({
    plain: `http://127.0.0.1:${port}`,
    tls: `https://127.0.0.1:${(secure.address() as AddressInfo).port}`,
  })
})
process.stdin.resume().on('end', () => process.exit())
