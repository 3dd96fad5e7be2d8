/** One connection of a round's peer: it sends the frames of its plan, and reads all that the client sends. */

import type { Frame } from '../../../src/testing/frames.ts'
import { Flag, frames, Setting, Type } from '../../../src/testing/frames.ts'
import { encodeFields } from '../../../src/testing/hpack.ts'
import type { Random } from '../../protocol/hpack/support.ts'
import type { LedgerListener, SentStream } from './client-ledger.ts'
import { ClientLedger } from './client-ledger.ts'
import type { Link, LinkListener } from './link.ts'
import type { ConnectionPlan, GroupPlan } from './plan-peer.ts'
import { Said } from './said.ts'
import type { VirtualTime } from './virtual-time.ts'

/** Gets the events of all connections. */
export interface PeerOwner {
  /** Whether node:http2 is the client's engine. */
  readonly isOfNode: boolean
  onViolation(what: string): void
}

/** The body of a polite peer's response: it fits into any window. */
export const POLITE_BODY = '!'

/** For so many milliseconds a plan waits for a request that may never come. */
const PATIENCE = 25
/** Bytes that are delivered one by one, at most. */
const CRUMBS = 120

/** A connection; of a plan, or polite where that is null. */
export class PeerSide implements LinkListener, LedgerListener {
  readonly said = new Said()
  readonly ledger: ClientLedger
  readonly index: number
  isClosed = false
  readonly #plan: ConnectionPlan | null
  readonly #owner: PeerOwner
  readonly #time: VirtualTime
  readonly #random: Random
  #link: Link | null = null
  #groups: readonly GroupPlan[]
  /** The frames that it sends by itself, between two groups. */
  #asides: Buffer[] = []
  /** Nothing comes between the frames of a group; nor before the first. */
  #isSpeaking = true
  #isSilent = false
  #requests = 0
  /** Called with each request. */
  #onRequest: () => void = () => {}

  constructor(
    index: number,
    plan: ConnectionPlan | null,
    owner: PeerOwner,
    time: VirtualTime,
    random: Random,
  ) {
    this.index = index
    this.#plan = plan
    this.#owner = owner
    this.#time = time
    this.#random = random
    this.#groups = plan?.groups ?? []
    this.ledger = new ClientLedger(this.said, this)
  }

  /** There is a connection. */
  start(link: Link): void {
    this.#link = link
    if (this.#plan === null) {
      this.#say(frames.settings([Setting.ENABLE_CONNECT_PROTOCOL, 1]))
      this.#isSpeaking = false
      this.#sayAsides()
    } else this.#speak(this.#plan).catch((thrown: unknown) => this.#owner.onViolation(`the peer: ${thrown}`))
  }

  get isOfNode(): boolean {
    return this.#owner.isOfNode
  }

  /** It may respond without reading: then the client's socket takes no more at some point. */
  get mayMiss(): boolean {
    return this.#plan?.takes === 'a little'
  }

  /** It sends nothing more, and closes nothing. */
  fallSilent(): void {
    this.#isSilent = true
  }

  /** Ends the connection, the hard way. */
  cut(): void {
    this.#isSilent = true
    this.#link?.reset()
  }

  onBytes(bytes: Buffer): void {
    this.ledger.receive(bytes)
  }

  onEnd(): void {
    this.#time.log(() => `connection ${this.index} ← its end`)
    if (this.#plan === null) this.#link?.end()
  }

  onClose(): void {
    this.#time.log(() => `connection ${this.index} is closed`)
    this.isClosed = true
    this.#onRequest()
  }

  onViolation(what: string): void {
    this.#owner.onViolation(`on connection ${this.index} ${what}`)
  }

  onRequest(stream: SentStream): void {
    this.#requests++
    this.#onRequest()
    if (this.#plan === null) this.#response(stream)
  }

  onFrame(frame: Frame): void {
    const { type, flags, payload, streamId } = frame
    this.#time.log(() => `connection ${this.index} ← ${describe(frame)}`)
    const isAck = (flags & Flag.ACK) !== 0
    if (type === Type.SETTINGS && !isAck && this.#plan?.acksSettings !== false)
      this.#aside(frames.settingsAck())
    if (type === Type.PING && !isAck && this.#plan?.acksPings !== false)
      this.#aside(frames.ping(payload, Flag.ACK))
    if (type === Type.DATA && this.#plan?.grantsCredit !== false) this.#grant(frame)
    if (type === Type.DATA && this.#plan === null && (flags & Flag.END_STREAM) !== 0)
      this.#endTunnel(streamId)
  }

  #grant({ streamId, flags, payload }: Frame): void {
    if (payload.length === 0) return
    this.#aside(frames.windowUpdate(0, payload.length))
    if ((flags & Flag.END_STREAM) === 0) this.#aside(frames.windowUpdate(streamId, payload.length))
  }

  /** A polite response. */
  #response(stream: SentStream): void {
    const isTunnel = stream.field(':method') === 'CONNECT'
    // A table of size 0: whatever size the client has allowed (RFC 7541 §4.2).
    const block = Buffer.concat([Buffer.of(0x20), encodeFields([[':status', '200']])])
    this.#aside(frames.frame(Type.HEADERS, Flag.END_HEADERS, stream.id, block))
    if (!isTunnel) this.#aside(frames.data(stream.id, POLITE_BODY, Flag.END_STREAM))
    else if (stream.hasEnded) this.#aside(frames.data(stream.id, '', Flag.END_STREAM))
  }

  #endTunnel(streamId: number): void {
    const stream = this.ledger.streams.get(streamId)
    if (stream?.field(':method') === 'CONNECT') this.#aside(frames.data(streamId, '', Flag.END_STREAM))
  }

  /** Between two groups, and never from within the client's own write: no peer responds as fast as that. */
  #aside(bytes: Buffer): void {
    this.#asides.push(bytes)
    if (this.#asides.length > 1) return
    this.#time.touch()
    setImmediate(() => {
      this.#time.touch()
      if (!this.#isSpeaking) this.#sayAsides()
    })
  }

  #sayAsides(): void {
    const asides = this.#asides
    this.#asides = []
    if (asides.length > 0) this.#say(Buffer.concat(asides))
  }

  #say(bytes: Buffer): void {
    if (this.#isSilent || this.isClosed || bytes.length === 0) return
    this.#time.log(() => `connection ${this.index} → ${bytes.length} bytes ${bytes.toString('hex', 0, 60)}`)
    this.said.write(bytes)
    this.#link?.write(bytes)
  }

  async #speak(plan: ConnectionPlan): Promise<void> {
    for (const group of this.#groups) {
      if (group.delay > 0) await this.#time.sleep(group.delay)
      if (this.#requests < group.after) await this.#untilRequests(group.after)
      if (this.isClosed || this.#isSilent) return
      this.#isSpeaking = true
      await this.#deliver(group)
      this.#isSpeaking = false
      this.#sayAsides()
    }
    this.#isSpeaking = false
    this.#sayAsides()
    if (this.isClosed || this.#isSilent || plan.end === 'stays') return
    if (this.#random.below(2) === 0) await this.#time.sleep(this.#random.below(30))
    if (plan.end === 'fin') this.#link?.end()
    else this.#link?.reset()
  }

  /** Until so many have come, or nothing has come for long. */
  #untilRequests(count: number): Promise<void> {
    return new Promise((resolve) => {
      this.#onRequest = () => {
        if (this.#requests >= count || this.isClosed) resolve()
      }
      this.#time.after(PATIENCE, resolve)
    })
  }

  async #deliver({ pieces, cut }: GroupPlan): Promise<void> {
    const bytes = Buffer.concat(pieces)
    if (cut === 'whole') {
      this.#say(bytes)
      return
    }
    const random = this.#random
    let crumbs = CRUMBS
    for (let at = 0; at < bytes.length; ) {
      const isCrumb = cut === 'bytes' && crumbs-- > 0
      const size = isCrumb ? 1 : 1 + random.below(random.pick([2, 12, 200, 5_000, 70_000]))
      this.#say(bytes.subarray(at, at + size))
      at += size
      // Some segments come together.
      if (random.below(3) > 0) await new Promise((resolve) => setImmediate(resolve))
    }
  }
}

function describe({ type, flags, streamId, payload }: Frame): string {
  const text = payload.toString('hex', 0, 30)
  return `frame of type ${type}, flags ${flags}, stream ${streamId}, ${payload.length} bytes ${text}`
}
