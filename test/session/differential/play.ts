/** Plays a plan on one of the engines, and tells what was seen of it on both sides. */

import type { Duplex, Readable } from 'node:stream'
import type { FaultConnection } from '../../../src/testing/fault-connection.ts'
import type { FaultServer } from '../../../src/testing/fault-server.ts'
import type { FaultStream } from '../../../src/testing/fault-stream.ts'
import { MAX_STREAM_ID } from '../../../src/testing/frames.ts'
import type { ClientOptions, DispatchOptions } from '../../../types/index.ts'
import { Harness } from '../../support/clients/engines.ts'
import { FakeClock } from '../../support/clocks/fake-clock.ts'
import { INTERNAL_ERROR } from '../../support/peers/error-codes.ts'
import { listenPeer } from '../../support/peers/peer.ts'
import { PATIENT } from '../../support/peers/peer-rig.ts'
import { toBody, toLength } from './body.ts'
import { toFrameBytes } from './frames.ts'
import type { CallPlan, PeerFrame, Plan, Step } from './plan.ts'
import type { Transcript } from './witness.ts'
import { turns, Witness } from './witness.ts'

/** What the peer has seen of one attempt. */
export interface SeenRequest {
  readonly connection: number
  readonly fields: readonly string[]
  readonly isComplete: boolean
  /** Of a request that is whole. */
  readonly body: string
  readonly trailers: readonly string[] | null
  readonly resetCode: number | null
}

/** What was seen of a scene. */
export interface Seen {
  readonly calls: readonly Transcript[]
  /** By call. */
  readonly requests: readonly (readonly SeenRequest[])[]
  /** Of the client: what it said of connections. */
  readonly connections: readonly string[]
  /** What was open when all was over; empty where nothing was. */
  readonly left: readonly string[]
}

/** Turns of the event loop after which something that should come isn't coming. */
const PATIENCE = 20_000

/** Of the peer, and of a form: another one each time. */
const RANDOM = /127\.0\.0\.1:\d+|-{4,}[\w-]{8,}/g

function toSeen(stream: FaultStream): SeenRequest {
  const { isComplete, sentResetCode, trailers, resetCode } = stream
  // A reset of the peer's own ends it, too.
  const isWhole = isComplete && sentResetCode === null
  const toText = ([name, value]: readonly [string, string]): string => `${name}: ${value}`
  return {
    connection: stream.connection.index,
    fields: stream.fields.map(toText).map((text) => text.replace(RANDOM, 'random')),
    isComplete: isWhole,
    body: isWhole ? Buffer.from(stream.text.replace(RANDOM, 'random'), 'latin1').toString('hex') : '',
    trailers: trailers?.map(toText) ?? null,
    resetCode,
  }
}

/** What the client does at the same time would be a matter of luck. */
function isGlued(step: Step, next: Step | undefined): boolean {
  return 'isGlued' in step && step.isGlued && next !== undefined && 'isGlued' in next && next.do !== 'loss'
}

/** One scene under way. */
class Scene {
  readonly #plan: Plan
  readonly #peer: FaultServer
  readonly #clock = new FakeClock()
  readonly #harness: Harness
  readonly #witnesses: (Witness | null)[]
  readonly #sources: (Readable | null)[]
  /** The stream of each call's that its script is for: its first one on the first connection. */
  readonly #scripted: (FaultStream | null)[]
  /** Streams on which the peer has said its last. */
  readonly #over = new Set<FaultStream>()
  /** Those among them that it has never taken. */
  readonly #refused = new Set<FaultStream>()
  /** Those to tunnels whose callbacks weren't called. */
  #writes = 0
  #isConnectionOver = false

  constructor(
    plan: Plan,
    peer: FaultServer,
    engine: ClientOptions['engine'],
    scripted: (FaultStream | null)[],
  ) {
    this.#plan = plan
    this.#peer = peer
    this.#scripted = scripted
    this.#harness = new Harness(peer.origin, { engine, ...PATIENT }, this.#clock)
    this.#witnesses = plan.calls.map(() => null)
    this.#sources = plan.calls.map(() => null)
  }

  async play(): Promise<Seen> {
    const { steps } = this.#plan
    for (const [at, step] of steps.entries()) {
      this.#do(step)
      if (step.do === 'complete') await this.#untilComplete(step.call)
      else if (step.do === 'dispatch') await this.#untilConnected(step.call)
      if (!isGlued(step, steps[at + 1])) await this.#barrier()
    }
    await this.#barrier()
    return this.#finish()
  }

  get #first(): FaultConnection | null {
    return this.#peer.connections[0] ?? null
  }

  #do(step: Step): void {
    const first = this.#first
    if (step.do === 'dispatch') this.#dispatch(step.call)
    else if (step.do === 'client') this.#act(step)
    else if (step.do === 'complete' || first === null || this.#isConnectionOver) return
    else if (step.do === 'frames') this.#say(step.call, step.frames)
    else if (step.do === 'settings') void first.settings(...step.entries)
    else if (step.do === 'goaway') this.#goAway(first, step.last, step.code)
    else this.#lose(first, step.how)
  }

  #dispatch(index: number): void {
    const plan = this.#plan.calls[index] as CallPlan
    const { body, source } = toBody(plan)
    const length = toLength(plan)
    const headers = plan.headers.flat()
    if (length !== null) headers.push('content-length', String(length))
    const isConnect = plan.tunnel === 'connect'
    const options: DispatchOptions = {
      method: plan.method,
      path: isConnect ? `x${index}.example:443` : `/${index}`,
      headers,
      body,
      expectContinue: plan.expectContinue,
      ...(plan.tunnel === 'websocket' ? { upgrade: 'websocket' } : {}),
      ...(plan.trailers.length > 0 ? { trailers: Object.fromEntries(plan.trailers) } : {}),
    }
    const witness = new Witness(plan)
    this.#witnesses[index] = witness
    this.#sources[index] = source
    this.#harness.scheduler.add(options, witness)
  }

  #act({ call, verb, bytes }: Step & { do: 'client' }): void {
    const witness = this.#witnesses[call] ?? null
    const source = this.#sources[call] ?? null
    const stream = this.#scripted[call] ?? null
    switch (verb) {
      case 'push':
        if (source?.destroyed === false) source.push(bytes)
        break
      case 'endBody':
        if (source?.destroyed === false) source.push(null)
        break
      case 'breakBody':
        source?.destroy(new Error('The source is broken'))
        break
      case 'writeTunnel':
        this.#writeTunnel(witness?.tunnel ?? null, bytes)
        break
      case 'endTunnel':
        witness?.tunnel?.end()
        break
      case 'destroyTunnel':
        witness?.tunnel?.destroy()
        break
      case 'abort':
        // Elsewhere it would be a matter of luck how far the call has come.
        if (stream !== null) witness?.abort()
        break
      case 'pause':
        witness?.controller?.pause()
        break
      case 'resume':
        witness?.controller?.resume()
        break
    }
  }

  #writeTunnel(tunnel: Duplex | null, bytes: Buffer): void {
    if (tunnel?.writable !== true) return
    this.#writes++
    tunnel.write(bytes, () => this.#writes--)
  }

  #say(call: number, frames: readonly PeerFrame[]): void {
    const stream = this.#scripted[call] ?? null
    for (const frame of frames) {
      if (stream === null || this.#over.has(stream)) return
      if (frame.type === 'reset' || frame.isEnd) this.#over.add(stream)
      if (frame.type === 'reset') stream.reset(frame.code)
      else this.#first?.write(...toFrameBytes(frame, stream.id))
    }
  }

  #goAway(first: FaultConnection, last: number | null, code: number): void {
    const lastId = last === null ? MAX_STREAM_ID : (this.#scripted[last]?.id ?? 0)
    first.goAway({ lastStreamId: lastId, code, debugData: 'debug' })
    for (const stream of first.streams) {
      if (stream.id <= lastId) continue
      this.#over.add(stream)
      this.#refused.add(stream)
    }
  }

  #lose(first: FaultConnection, how: 'end' | 'break'): void {
    this.#isConnectionOver = true
    if (how === 'end') first.end()
    else first.break()
  }

  /** Waits until both sides have read all that was sent, and responded. */
  async #barrier(): Promise<void> {
    await turns(2)
    const first = this.#first
    if (first !== null && !first.isClosed) {
      let isBack = false
      if (!this.#isConnectionOver) void first.ping().then(() => (isBack = true))
      await this.#until(() => isBack || first.isClosed, 'the first connection responses')
    }
    await turns(3)
  }

  #untilConnected(call: number): Promise<void> {
    return this.#until(() => {
      const first = this.#first
      if (first === null) return this.#witnesses[call]?.isSettled === true
      return first.isClosed || first.clientSettings.size > 0
    }, 'there is a connection')
  }

  #untilComplete(call: number): Promise<void> {
    const stream = this.#scripted[call] ?? null
    if (stream === null) return Promise.resolve()
    const isOver = (): boolean =>
      !stream.isOpen || stream.isComplete || this.#first?.isClosed === true || this.#over.has(stream)
    return this.#until(
      () => isOver() || this.#witnesses[call]?.isSettled === true,
      `request ${call} is whole`,
    )
  }

  async #until(condition: () => boolean, what: string): Promise<void> {
    for (let turn = 0; !condition(); turn++) {
      if (turn > PATIENCE) throw new Error(`Seed ${this.#plan.seed}: it never came to it that ${what}`)
      await turns(1)
    }
  }

  /** Ends what is open by itself, then what is left, and looks whether anything remains. */
  async #finish(): Promise<Seen> {
    this.#resumeAll()
    for (const source of this.#sources) if (source?.destroyed === false) source.push(null)
    await this.#barrier()
    for (const stream of this.#scripted) {
      if (stream === null || this.#over.has(stream) || !stream.isOpen || this.#isConnectionOver) continue
      this.#over.add(stream)
      stream.reset(INTERNAL_ERROR)
    }
    await this.#untilSettled()
    for (const witness of this.#witnesses) witness?.tunnel?.destroy()
    await this.#barrier()
    const left = this.#toLeft()
    const { scheduler } = this.#harness
    await scheduler.destroy(null)
    await this.#until(() => this.#peer.connections.every(({ isClosed }) => isClosed), 'all is closed')
    return {
      calls: this.#witnesses.flatMap((witness) => witness?.toTranscript() ?? []),
      requests: this.#plan.calls.map((_call, index) => this.#toRequests(index)),
      connections: this.#harness.connections,
      left,
    }
  }

  #resumeAll(): void {
    for (const witness of this.#witnesses) witness?.controller?.resume()
  }

  /** Those that are sent again wait for a clock. */
  #untilSettled(): Promise<void> {
    const isSettled = (): boolean => this.#witnesses.every((witness) => witness?.isSettled !== false)
    return this.#until(() => {
      if (isSettled()) return true
      this.#resumeAll()
      this.#clock.advance(10)
      return false
    }, 'every call has settled')
  }

  #toLeft(): string[] {
    const { pending, running } = this.#harness.scheduler
    const left: string[] = []
    if (pending > 0 || running > 0) left.push(`${pending} pending, ${running} running`)
    if (this.#writes > 0) left.push(`${this.#writes} writes`)
    for (const { isClosed, streams } of this.#peer.connections) {
      for (const stream of isClosed ? [] : streams)
        if (this.#isOpen(stream)) left.push(`${stream} at the peer`)
    }
    for (const [index, source] of this.#sources.entries()) {
      if (source !== null && !source.destroyed) left.push(`source ${index}`)
    }
    return left
  }

  #isOpen(stream: FaultStream): boolean {
    if (this.#refused.has(stream) || !stream.isOpen) return false
    return !(stream.isComplete && this.#over.has(stream))
  }

  #toRequests(index: number): SeenRequest[] {
    return this.#peer.requests.filter((stream) => toIndex(stream) === index).map(toSeen)
  }
}

/** Which call a request is of. */
function toIndex(stream: FaultStream): number {
  return Number(
    /^\/(\d)|^x(\d)/
      .exec(stream.path || (stream.field(':authority') ?? ''))
      ?.slice(1)
      .join(''),
  )
}

/** @returns what was seen; the same for a plan whichever engine plays it, but for the differences that are known */
export async function play(plan: Plan, engine: ClientOptions['engine']): Promise<Seen> {
  const scripted: (FaultStream | null)[] = plan.calls.map(() => null)
  const peer = await listenPeer({
    settings: plan.settings,
    onRequest: (stream, connection) => {
      const index = toIndex(stream)
      if (connection.index === 0 && scripted[index] === null) scripted[index] = stream
      else if (plan.calls[index]?.tunnel !== null) stream.head(200)
    },
    onComplete: (stream) => {
      if (scripted.includes(stream)) return
      stream.head(200)
      stream.end(stream.method === 'HEAD' ? '' : `${stream}`)
    },
  })
  try {
    return await new Scene(plan, peer, engine, scripted).play()
  } finally {
    await peer.close()
  }
}
