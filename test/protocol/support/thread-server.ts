/** A server that reads each request's body with one of a few threads, and nothing of the others. */

import type { Frame } from '../../../src/testing/frames.ts'
import { Flag, frames, Type } from '../../../src/testing/frames.ts'
import type { Random } from '../hpack/support.ts'
import type { Rig } from './rig.ts'

const DEFAULT_WINDOW = 65_535

/** What a server is like. */
export interface ThreadServerOptions {
  readonly threads: number
  readonly streamWindow: number
  /** The connection window; 65,535 at least. */
  readonly connectionWindow: number
  /** Credit for a window is returned once so much of it was read. Bytes. */
  readonly streamCredit: number
  readonly connectionCredit: number
  /** The most that a thread reads at once. Bytes. */
  readonly read: number
}

interface Body {
  unread: number
  /** Bytes that were read, and for which no credit was returned. */
  owed: number
  isEnded: boolean
}

/**
 * Requests get a thread in the order in which they come, and keep it until their body was read whole. Frames in both
 * directions are under way until somebody moves them on.
 */
export class ThreadServer {
  /** Requests that were served. */
  served = 0
  /** Bytes that were read. */
  bytes = 0
  readonly #rig: Rig
  readonly #random: Random
  readonly #options: ThreadServerOptions
  readonly #bodies = new Map<number, Body>()
  readonly #down: Buffer[] = []
  #owed = 0

  constructor(rig: Rig, random: Random, options: ThreadServerOptions) {
    this.#rig = rig
    this.#random = random
    this.#options = options
    rig.receive(frames.settings([4, options.streamWindow]))
    if (options.connectionWindow > DEFAULT_WINDOW) {
      rig.receive(frames.windowUpdate(0, options.connectionWindow - DEFAULT_WINDOW))
    }
  }

  /** Bodies that have begun to come and are not whole. */
  get begun(): number {
    return [...this.#bodies.values()].filter((body) => !body.isEnded && body.unread + body.owed > 0).length
  }

  /** Takes what the client sends now. @returns whether there was any */
  hear(limit: number): boolean {
    const sent = this.#rig.take(limit)
    for (const frame of sent) this.#take(frame)
    return sent.length > 0
  }

  /** Lets one frame arrive at the client. @returns whether there was one */
  deliver(): boolean {
    const frame = this.#down.shift()
    if (frame !== undefined) this.#rig.receive(frame)
    return frame !== undefined
  }

  /** One of the threads that can goes on. @returns whether there was one */
  work(): boolean {
    const running = [...this.#bodies].slice(0, this.#options.threads)
    const able = running.filter(([, { unread, isEnded }]) => unread > 0 || isEnded)
    const chosen = able[this.#random.below(able.length)]
    if (chosen === undefined) return false
    const [id, body] = chosen
    if (body.unread > 0) this.#read(id, body)
    if (body.unread === 0 && body.isEnded) this.#respond(id)
    return true
  }

  #read(id: number, body: Body): void {
    const size = Math.min(body.unread, 1 + this.#random.below(this.#options.read))
    const { streamCredit, connectionCredit } = this.#options
    this.bytes += size
    body.unread -= size
    body.owed += size
    this.#owed += size
    const updates: Buffer[] = []
    if (this.#owed >= connectionCredit) {
      updates.push(frames.windowUpdate(0, this.#owed))
      this.#owed = 0
    }
    if (body.owed >= streamCredit && !body.isEnded) {
      updates.push(frames.windowUpdate(id, body.owed))
      body.owed = 0
    }
    this.#down.push(...(this.#random.below(2) === 0 ? updates : updates.reverse()))
  }

  #respond(id: number): void {
    this.#bodies.delete(id)
    this.#down.push(frames.headers(id, [[':status', '200']], Flag.END_STREAM))
    this.served++
  }

  #take({ type, flags, streamId, payload }: Frame): void {
    const isEnded = (flags & Flag.END_STREAM) !== 0
    if (type === Type.HEADERS) this.#bodies.set(streamId, { unread: 0, owed: 0, isEnded })
    const body = this.#bodies.get(streamId)
    if (type !== Type.DATA || body === undefined) return
    body.unread += payload.length
    body.isEnded = isEnded
  }
}
