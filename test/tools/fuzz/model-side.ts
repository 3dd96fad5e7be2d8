/**
 * One connection of a model server: it has threads, each of which is blocked by one request, keeps to the client's windows, and counts
 * what it has given. All that it does is legal, but for the one violation of its plan.
 */

import type { Frame } from '../../../src/testing/frames.ts'
import {
  Flag,
  frames,
  MAX_STREAM_ID,
  Setting,
  Type,
  toContent,
  toFrames,
  toSettings,
} from '../../../src/testing/frames.ts'
import type { Field } from '../../../src/testing/hpack.ts'
import type { Random } from '../../protocol/hpack/support.ts'
import { NO_ERROR } from '../../support/peers/error-codes.ts'
import type { LedgerListener, SentStream } from './client-ledger.ts'
import { ClientLedger } from './client-ledger.ts'
import type { Link, LinkListener } from './link.ts'
import { ModelEncoder } from './model-hpack.ts'
import { describeFrame } from './model-log.ts'
import type { ModelCall, ModelResponse, ModelServerPlan } from './model-plan.ts'
import { toModelBody } from './model-plan.ts'
import { isDeed, toViolation } from './model-violations.ts'
import { Said } from './said.ts'
import type { VirtualTime } from './virtual-time.ts'

/** Gets the events of all connections. */
export interface ModelOwner {
  /** Whether node:http2 is the client's engine. */
  readonly isOfNode: boolean
  readonly calls: readonly ModelCall[]
  /** A thread has taken up the request. */
  onTaken(call: number): void
  /** It won't be: the client may send it again. */
  onRefused(call: number): void
  onFault(what: string): void
}

/** One request, from its HEADERS to the end of both sides. */
class Exchange {
  readonly id: number
  readonly index: number
  readonly call: ModelCall
  /** Flow-controlled octets that came, and that no thread has read. */
  unread = 0
  /** The content so far. */
  readonly content: Buffer[] = []
  hasEnded = false
  /** Reset, by either side. */
  isGone = false
  /** The client's window for its response. */
  window: number
  state: 'fresh' | 'begun' | 'ended' = 'fresh'
  /** Credit that was collected, and not yet sent. */
  credit = 0
  #wake: () => void = () => {}

  constructor(id: number, index: number, call: ModelCall, window: number) {
    this.id = id
    this.index = index
    this.call = call
    this.window = window
  }

  /** Something about it has changed. */
  touch(): void {
    this.#wake()
  }

  untilTouched(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve
    })
  }
}

/** Reads by which a wait of a millisecond is worth its time. */
const READS_BETWEEN_GAPS = 4
/** Bytes that are delivered one by one, at most. */
const CRUMBS = 60

export class ModelSide implements LinkListener, LedgerListener {
  readonly said = new Said()
  readonly ledger: ClientLedger
  readonly index: number
  isClosed = false
  /** Whether a violation has been written. */
  hasLied = false
  readonly #plan: ModelServerPlan
  readonly #owner: ModelOwner
  readonly #time: VirtualTime
  readonly #random: Random
  readonly #encoder: ModelEncoder
  readonly #exchanges = new Map<number, Exchange>()
  readonly #waiting: Exchange[] = []
  #link: Link | null = null
  #busy = 0
  #taken = 0
  #window = 65_535
  #credit = 0
  #client = { window: 65_535, frameSize: 16_384 }
  #streams = Number.POSITIVE_INFINITY
  /** What the client may open at the most, by GOAWAY. */
  #lastAllowed = MAX_STREAM_ID
  #isRetiring = false
  #isSilent = false
  #ignoresWindows = false
  #liesAboutLength = false
  #frames = 0
  #violation: ModelServerPlan['violation']
  #hasSettings = false
  #queue: Buffer[] = []
  /** What it has written, and mustn't have. */
  readonly #lies = new Set<Buffer>()
  #isFlushing = false
  #hasEnded = false

  constructor(index: number, plan: ModelServerPlan, owner: ModelOwner, time: VirtualTime, random: Random) {
    this.index = index
    this.#plan = plan
    this.#violation = plan.violation
    this.#owner = owner
    this.#time = time
    this.#random = random
    this.#encoder = new ModelEncoder(random)
    this.ledger = new ClientLedger(this.said, this)
  }

  get isOfNode(): boolean {
    return this.#owner.isOfNode
  }

  start(link: Link): void {
    this.#link = link
    const { settingsDelay, changes, pings } = this.#plan
    if (settingsDelay === 0) this.#begin()
    else this.#time.after(settingsDelay, () => this.#begin())
    for (const { at, settings } of changes)
      this.#time.after(settingsDelay + at + 1, () => this.#announce(settings))
    for (let count = 0; count < pings; count++)
      this.#time.after(settingsDelay + 1 + this.#random.below(60), () =>
        this.#say(frames.ping(Buffer.alloc(8, count))),
      )
  }

  /** It does nothing wrong from here on. */
  heal(): void {
    this.#violation = null
    if (this.hasLied) this.cut()
  }

  /** From here on it is gone for its client, which has heard nothing of that. */
  cut(): void {
    this.#link?.reset()
  }

  onBytes(bytes: Buffer): void {
    this.ledger.receive(bytes)
  }

  onEnd(): void {
    this.#time.log(() => `connection ${this.index} ← its end`)
    if (!this.#isSilent) this.#link?.end()
  }

  onClose(): void {
    this.#time.log(() => `connection ${this.index} is closed`)
    this.isClosed = true
    for (const exchange of this.#exchanges.values()) {
      exchange.isGone = true
      exchange.touch()
    }
  }

  onViolation(what: string): void {
    // What a client still sends, and what it may send, isn't certain any more.
    if (!this.hasLied) this.#owner.onFault(`on connection ${this.index} ${what}`)
  }

  onRequest({ id, fields, hasEnded }: SentStream): void {
    const index = Number(fields.find(([name]) => name === 'x-call')?.[1] ?? -1)
    const call = this.#owner.calls[index]
    if (call === undefined) {
      this.#owner.onFault(`stream ${id} has no call`)
      return
    }
    const exchange = new Exchange(id, index, call, this.#client.window)
    exchange.hasEnded = hasEnded
    this.#exchanges.set(id, exchange)
    this.#judgeRequest(exchange, fields)
    // Above the last stream of its GOAWAY it takes no notice of any.
    if (id > this.#lastAllowed) {
      this.#owner.onRefused(index)
      this.#drop(exchange)
      return
    }
    const { refuses, retiresAfter } = this.#plan
    const open = [...this.#exchanges.values()].filter(
      (each) => !each.isGone && !(each.state === 'ended' && each.hasEnded),
    )
    if (open.length > this.#streams || (refuses > 0 && this.#random.below(refuses) === 0)) {
      this.#owner.onRefused(index)
      this.#reset(exchange, 7)
      return
    }
    this.#waiting.push(exchange)
    if (++this.#taken === retiresAfter) this.#retire()
    this.#time.touch()
    setImmediate(() => this.#takeNext())
  }

  onFrame(frame: Frame): void {
    const { type, flags, streamId, payload } = frame
    this.#time.log(() => `connection ${this.index} ← ${describeFrame(frame)}`)
    const isAck = (flags & Flag.ACK) !== 0
    const exchange = this.#exchanges.get(streamId)
    if (type === Type.DATA && exchange !== undefined) this.#onData(exchange, frame)
    if (type === Type.HEADERS && exchange !== undefined && (flags & Flag.END_STREAM) !== 0)
      exchange.hasEnded = true
    if (type === Type.SETTINGS && !isAck) this.#onSettings(frame)
    if (type === Type.PING && !isAck) this.#say(frames.ping(payload, Flag.ACK))
    if (type === Type.PING && isAck) this.#onPong()
    if (type === Type.RST_STREAM && exchange !== undefined) this.#drop(exchange)
    if (type === Type.WINDOW_UPDATE) this.#onCredit(streamId, payload.readUInt32BE(0))
    exchange?.touch()
  }

  #onData(exchange: Exchange, frame: Frame): void {
    const { payload, flags } = frame
    if ((flags & Flag.END_STREAM) !== 0) exchange.hasEnded = true
    if (exchange.isGone || exchange.state === 'ended') {
      // Nobody reads it: only the connection's credit comes back.
      this.#giveCredit(payload.length, null)
      return
    }
    exchange.content.push(toContent(frame))
    exchange.unread += payload.length
    if (this.#plan.credit === 'as it comes') this.#giveCredit(payload.length, null)
  }

  #onSettings(frame: Frame): void {
    const entries = new Map(toSettings(frame))
    const window = entries.get(Setting.INITIAL_WINDOW_SIZE)
    if (window !== undefined) {
      for (const exchange of this.#exchanges.values()) exchange.window += window - this.#client.window
      this.#client.window = window
    }
    this.#client.frameSize = entries.get(Setting.MAX_FRAME_SIZE) ?? this.#client.frameSize
    const tableSize = entries.get(Setting.HEADER_TABLE_SIZE)
    this.#say(frames.settingsAck())
    if (tableSize !== undefined) this.#encoder.allow(tableSize)
    for (const exchange of this.#exchanges.values()) exchange.touch()
  }

  #onCredit(streamId: number, increment: number): void {
    if (streamId === 0) {
      this.#window += increment
      for (const exchange of this.#exchanges.values()) exchange.touch()
    } else {
      const exchange = this.#exchanges.get(streamId)
      if (exchange !== undefined) exchange.window += increment
    }
  }

  #begin(): void {
    const early = this.#queue
    this.#queue = []
    this.#hasSettings = true
    this.#announce(this.#plan.first)
    // What came before it has its answers behind it (RFC 9113 §3.4).
    this.#queue.push(...early)
    this.#endRetired()
    if (!this.#plan.isNoisy) return
    this.#say(frames.settings([0xabcd, 7]))
    this.#say(frames.frame(0xee, 0xff, 0, Buffer.from('unknown')))
    this.#say(frames.frame(Type.PRIORITY, 0, 5, Buffer.of(0, 0, 0, 0, 1)))
  }

  #announce({ window, streams, frameSize, tableSize }: ModelServerPlan['first']): void {
    this.#streams = streams
    this.#say(
      frames.settings(
        [Setting.INITIAL_WINDOW_SIZE, window],
        [Setting.MAX_CONCURRENT_STREAMS, streams],
        [Setting.MAX_FRAME_SIZE, frameSize],
        [Setting.HEADER_TABLE_SIZE, tableSize],
      ),
    )
  }

  #retire(): void {
    this.#isRetiring = true
    if (this.#plan.retiresInTwoSteps) {
      this.#say(frames.goAway(MAX_STREAM_ID, NO_ERROR))
      this.#say(frames.ping(Buffer.alloc(8, 0xff)))
    } else this.#sayLast()
  }

  /** The PING behind the first GOAWAY comes back: the client knows. Any other does no harm. */
  #onPong(): void {
    if (this.#isRetiring && this.#lastAllowed === MAX_STREAM_ID) this.#sayLast()
  }

  #sayLast(): void {
    this.#lastAllowed = Math.max(0, ...this.ledger.streams.keys())
    this.#say(frames.goAway(this.#lastAllowed, NO_ERROR))
    this.#endRetired()
  }

  #endRetired(): void {
    if (this.#lastAllowed === MAX_STREAM_ID || !this.#isRetiring || !this.#hasSettings) return
    const isOpen = (each: Exchange): boolean => !each.isGone && !(each.state === 'ended' && each.hasEnded)
    if (![...this.#exchanges.values()].some(isOpen)) this.#end()
  }

  #takeNext(): void {
    this.#time.touch()
    while (this.#busy < this.#plan.threads) {
      const exchange = this.#waiting.shift()
      if (exchange === undefined) return
      if (exchange.isGone) continue
      this.#busy++
      this.#owner.onTaken(exchange.index)
      const onEnd = (): void => {
        this.#busy--
        if (this.#credit > 0) this.#giveConnection()
        this.#endRetired()
        this.#takeNext()
      }
      this.#serve(exchange).then(onEnd, (thrown: unknown) => {
        this.#owner.onFault(`the model server: ${thrown instanceof Error ? thrown.stack : thrown}`)
        onEnd()
      })
    }
  }

  async #serve(exchange: Exchange): Promise<void> {
    const { response } = exchange.call
    for (let count = 0; count < response.informational; count++)
      this.#sayHeaders(
        exchange,
        [
          [':status', '103'],
          ['link', `</${count}>; rel=preload`],
        ],
        0,
      )
    if (!response.isEarly) await this.#read(exchange)
    if (!exchange.isGone) await this.#respond(exchange, response)
    if (exchange.isGone) return
    exchange.state = 'ended'
    if (this.#plan.credit === 'as read') this.#giveCredit(exchange.unread, null)
    exchange.unread = 0
    if (exchange.hasEnded) return
    // What is on its way counts for the connection alone, and what isn't need not come (RFC 9113 §8.1).
    this.#reset(exchange, 0)
  }

  async #read(exchange: Exchange): Promise<void> {
    const { readPiece, readGap, credit } = this.#plan
    for (let reads = 0; !exchange.isGone; reads++) {
      if (exchange.unread === 0) {
        if (exchange.hasEnded) break
        this.#giveCollected(exchange)
        await exchange.untilTouched()
        continue
      }
      const size = Math.min(exchange.unread, readPiece)
      exchange.unread -= size
      this.#giveCredit(credit === 'as read' ? size : 0, exchange.hasEnded ? null : exchange, size)
      if (readGap > 0 && reads % READS_BETWEEN_GAPS === 0) await this.#time.sleep(readGap)
    }
    if (!exchange.isGone) this.#judgeContent(exchange)
  }

  #judgeContent({ id, index, call, content }: Exchange): void {
    const body = Buffer.concat(content)
    const wanted = call.upload.kind === 'none' ? Buffer.alloc(0) : toModelBody(call.upload.size, index)
    if (!body.equals(wanted))
      this.#owner.onFault(
        `[call ${index}] stream ${id} has brought ${body.length} octets that aren't the ${wanted.length} of its body`,
      )
  }

  #judgeRequest({ index, call }: Exchange, fields: readonly Field[]): void {
    const came = new Map(fields)
    const wanted = { ...call.fields, ':method': call.method, ':path': `/${index}` }
    for (const [name, value] of Object.entries(wanted))
      if (came.get(name) !== value)
        this.#owner.onFault(`[call ${index}] field ${name} came as ${came.get(name)}`)
  }

  async #respond(exchange: Exchange, response: ModelResponse): Promise<void> {
    const { status, size, hasLength, trailers, piece, gap, isPadded, resetCode } = response
    const fields: Field[] = [[':status', `${status}`], ...Object.entries(response.fields)]
    if (hasLength) fields.push(['content-length', `${this.#liesAboutLength ? size + 1 : size}`])
    this.#liesAboutLength = false
    const isBodyless = exchange.call.method === 'HEAD' || status === 204 || status === 304
    const body = toModelBody(isBodyless ? 0 : size, exchange.index + 100)
    const endsHere = resetCode === null && trailers === null && body.length === 0
    this.#sayHeaders(exchange, fields, endsHere ? Flag.END_STREAM : 0)
    exchange.state = 'begun'
    const half = resetCode === null ? body.length : Math.floor(body.length / 2)
    for (let at = 0; at < half; ) {
      await this.#untilRoom(exchange)
      if (exchange.isGone) return
      // Other threads may have used the connection's window up since.
      const room = this.#toRoom(exchange)
      if (room <= 0) continue
      const content = body.subarray(at, Math.min(half, at + Math.min(room, piece)))
      at += content.length
      const isLast = at === body.length && resetCode === null && trailers === null
      this.#sayData(exchange, content, isLast, isPadded && room - content.length > 20)
      if (gap > 0) await this.#time.sleep(gap)
    }
    if (exchange.isGone) return
    if (resetCode !== null) this.#reset(exchange, resetCode)
    else if (trailers !== null) this.#sayHeaders(exchange, Object.entries(trailers), Flag.END_STREAM)
  }

  /** Until the client takes octets in a frame, or the exchange is gone. */
  async #untilRoom(exchange: Exchange): Promise<void> {
    while (this.#toRoom(exchange) <= 0 && !exchange.isGone) await exchange.untilTouched()
  }

  /** Octets that the client takes in one frame now; none where it is less than 1. */
  #toRoom({ window }: Exchange): number {
    const { frameSize } = this.#client
    return this.#ignoresWindows ? frameSize : Math.min(frameSize, this.#window, window)
  }

  #sayData(exchange: Exchange, content: Buffer, isLast: boolean, isPadded: boolean): void {
    const padding = isPadded ? this.#random.below(19) : 0
    const payload = isPadded ? Buffer.concat([Buffer.of(padding), content, Buffer.alloc(padding)]) : content
    exchange.window -= payload.length
    this.#window -= payload.length
    const flags = (isLast ? Flag.END_STREAM : 0) | (isPadded ? Flag.PADDED : 0)
    this.#say(frames.frame(Type.DATA, flags, exchange.id, payload))
  }

  #sayHeaders({ id }: Exchange, fields: readonly Field[], flags: number): void {
    const block = this.#encoder.encode(fields)
    // nghttp2 counts each read of the header of one CONTINUATION as a frame, and takes eight: node:http2 loses the connection.
    const isCut = this.#random.below(5) === 0 && !(this.isOfNode && this.#plan.cut === 'bytes')
    const cut = isCut ? this.#random.below(block.length + 1) : block.length
    const first = frames.frame(
      Type.HEADERS,
      flags | (isCut ? 0 : Flag.END_HEADERS),
      id,
      block.subarray(0, cut),
    )
    if (isCut) this.#say(first, frames.frame(Type.CONTINUATION, Flag.END_HEADERS, id, block.subarray(cut)))
    else this.#say(first)
  }

  #reset(exchange: Exchange, code: number): void {
    this.#say(frames.reset(exchange.id, code))
    this.#drop(exchange)
  }

  #drop(exchange: Exchange): void {
    if (exchange.isGone) return
    exchange.isGone = true
    if (this.#plan.credit === 'as read') this.#giveCredit(exchange.unread, null)
    exchange.unread = 0
    exchange.touch()
    this.#endRetired()
  }

  /** @param exchange null: its stream needs none any more */
  #giveCredit(connection: number, exchange: Exchange | null, stream = 0): void {
    const { collectsCredit } = this.#plan
    this.#credit += connection
    if (exchange !== null) exchange.credit += stream
    if (this.#credit > 0 && (!collectsCredit || this.#credit >= 32_000)) this.#giveConnection()
    if (
      exchange !== null &&
      exchange.credit > 0 &&
      (!collectsCredit || exchange.credit >= this.#plan.first.window / 2)
    )
      this.#giveStream(exchange)
  }

  /** A thread that is about to wait keeps nothing back. */
  #giveCollected(exchange: Exchange): void {
    if (this.#credit > 0) this.#giveConnection()
    if (exchange.credit > 0) this.#giveStream(exchange)
  }

  #giveConnection(): void {
    this.#say(frames.windowUpdate(0, this.#credit))
    this.#credit = 0
  }

  #giveStream(exchange: Exchange): void {
    this.#say(frames.windowUpdate(exchange.id, exchange.credit))
    exchange.credit = 0
  }

  /** Frames that nothing comes between. Not from within the client's own write: no peer responds as fast as that. */
  #say(...pieces: readonly Buffer[]): void {
    if (this.isClosed || this.#isSilent || this.#hasEnded) return
    this.#frames++
    if (this.#hasSettings && this.#frames > 1) this.#lie()
    if (this.#isSilent) return
    this.#enqueue(...pieces)
  }

  #enqueue(...pieces: readonly Buffer[]): void {
    this.#queue.push(...pieces)
    this.#time.touch()
    if (this.#isFlushing || !this.#hasSettings) return
    this.#isFlushing = true
    setImmediate(() => void this.#flush())
  }

  #lie(): void {
    const violation = this.#violation
    if (violation === null || this.#frames <= violation.after) return
    if (isDeed(violation.name)) {
      this.#violation = null
      this.hasLied = true
      this.#time.log(() => `connection ${this.index}: ${violation.name}`)
      if (violation.name === 'a wrong content-length') this.#liesAboutLength = true
      else if (violation.name === 'no regard for windows') this.#ignoresWindows = true
      else {
        if (violation.name !== 'silence')
          this.#enqueue(frames.data(1, 'a frame that is cut off').subarray(0, 8))
        this.#isSilent = true
        const deed = violation.name
        // Behind what is queued.
        this.#time.after(20, () => {
          if (deed === 'the end in a frame') this.#link?.end()
          if (deed === 'a reset in a frame') this.#link?.reset()
        })
      }
      return
    }
    const exchanges = [...this.#exchanges.values()].filter((each) => !each.isGone)
    const find = (state: Exchange['state']): number | null =>
      exchanges.find((each) => each.state === state)?.id ?? null
    const bytes = toViolation(violation.name, {
      random: this.#random,
      fresh: find('fresh'),
      begun: find('begun'),
      ended: find('ended'),
      last: Math.max(0, ...this.ledger.streams.keys()),
    })
    if (bytes === null) return
    this.#violation = null
    this.hasLied = true
    this.#time.log(() => `connection ${this.index}: ${violation.name}`)
    this.#lies.add(bytes)
    this.#enqueue(bytes)
  }

  async #flush(): Promise<void> {
    while (this.#queue.length > 0 && !this.isClosed) {
      const queue = this.#queue
      const bytes = Buffer.concat(queue)
      this.#queue = []
      // The client keeps to all SETTINGS, those behind a violation too.
      this.said.write(Buffer.concat(queue.filter((piece) => !this.#lies.has(piece))))
      await this.#deliver(bytes)
    }
    this.#isFlushing = false
    if (this.#hasEnded) this.#link?.end()
  }

  async #deliver(bytes: Buffer): Promise<void> {
    this.#time.log(() => `connection ${this.index} → ${describeBytes(bytes)}`)
    const { cut } = this.#plan
    if (cut === 'whole') {
      this.#link?.write(bytes)
      return
    }
    const random = this.#random
    let crumbs = CRUMBS
    for (let at = 0; at < bytes.length; ) {
      const isCrumb = cut === 'bytes' && crumbs-- > 0
      const size = isCrumb ? 1 : 1 + random.below(random.pick([12, 200, 5_000, 70_000, 200_000]))
      this.#link?.write(bytes.subarray(at, at + size))
      at += size
      this.#time.touch()
      // Some segments come together.
      if (random.below(3) > 0) await new Promise((resolve) => setImmediate(resolve))
    }
  }

  /** FIN, behind what is queued. */
  #end(): void {
    if (this.#hasEnded) return
    this.#hasEnded = true
    if (!this.#isFlushing) this.#link?.end()
  }
}

/** Its whole frames, and what is left. */
function describeBytes(bytes: Buffer): string {
  const parts = toFrames(bytes)
  const size = parts.reduce((sum, { payload }) => sum + 9 + payload.length, 0)
  const rest = size === bytes.length ? '' : `; and ${bytes.toString('hex', size, size + 60)}`
  return `${parts.map(describeFrame).join('; ')}${rest}`
}
