/** A seed → the plan of a scene. */

import type { SettingsEntry } from '../../../src/testing/frames.ts'
import { ERROR_CODES, Setting } from '../../../src/testing/frames.ts'
import type { Field } from '../../../src/testing/hpack.ts'
import { Random } from '../../support/clocks/seeded-random.ts'
import type { BodyKind, CallPlan, ClientVerb, Moment, PeerFrame, Plan, Step } from './plan.ts'

const METHODS = ['GET', 'GET', 'GET', 'HEAD', 'POST', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH'] as const
const BODIES: readonly [BodyKind, ...BodyKind[]] = [
  'none',
  'text',
  'bytes',
  'readable',
  'generator',
  'web',
  'blob',
  'form',
  'factory',
  'steps',
  'steps',
]
const STATUSES = [200, 200, 200, 200, 201, 204, 206, 299, 302, 304, 404, 500, 503, 599] as const
const INFORMATIONAL = [100, 102, 103, 199] as const
const EVERY_CODE = [...ERROR_CODES.keys(), 0x1234, 0xffffffff] as unknown as readonly [number, ...number[]]
const MOMENTS: readonly [Moment, ...Moment[]] = ['start', 'info', 'response', 'data', 'end', 'upgrade']

/** All that a response's header may look like, as long as it breaks no rule. */
const FIELDS: readonly [Field, ...Field[]] = [
  ['x-one', '1'],
  ['x-one', '2'],
  ['x-empty', ''],
  ['x-latin1', 'caf\u00e9 \u00ff\u0080'],
  ['x-comma', 'a, b,c'],
  ['x-tab', 'a\tb'],
  ['set-cookie', 'a=1; Path=/'],
  ['set-cookie', 'b=2, c=3'],
  ['cookie', 'a=1'],
  ['cookie', 'b=2'],
  ['content-type', 'text/plain'],
  ['content-type', 'text/html'],
  ['etag', '"1"'],
  ['etag', '"2"'],
  ['location', '/a'],
  ['location', '/b'],
  ['retry-after', '1'],
  ['age', '7'],
  ['age', '8'],
  ['date', 'Thu, 01 Jan 1970 00:00:00 GMT'],
  ['server', 'a'],
  ['server', 'b'],
  ['vary', 'a'],
  ['vary', 'b'],
  ['expires', '0'],
  ['host', 'x'],
  ['user-agent', 'x'],
  ['dnt', '1'],
  ['dnt', '0'],
  ['access-control-allow-credentials', 'true'],
  ['__proto__', 'p'],
  ['__proto__', 'q'],
  ['constructor', 'c'],
  ['tostring', 't'],
  ['hasownproperty', 'h'],
  ['1', 'one'],
  ['0', 'zero'],
  ['10', 'ten'],
  ['1', 'uno'],
  ['-', 'dash'],
  ['!#$%&\u0027*+.^_`|~', 'token'],
  ['link', '</a>; rel=preload'],
  ['x-long', 'l'.repeat(3_000)],
]

const REQUEST_FIELDS: readonly [Field, ...Field[]] = [
  ['accept', '*/*'],
  ['x-one', '1'],
  ['cookie', 'a=1; b=2'],
  ['user-agent', 'u'],
  ['x-latin1', 'caf\u00e9'],
  ['x-empty', ''],
  ['authorization', 'secret'],
  ['x-long', 'r'.repeat(2_000)],
]

/** The parts of a scene, one after another. */
class Planner {
  readonly #random: Random
  /** Where in an exchange the connection's own faults come is left to the shuffle. */
  readonly #hasFault: boolean

  constructor(random: Random) {
    this.#random = random
    this.#hasFault = random.chance(0.3)
  }

  plan(seed: number): Plan {
    const random = this.#random
    const calls = Array.from({ length: random.between(1, 3) }, () => this.#toCall())
    const scripts = calls.map((call, index) => this.#toScript(call, index))
    const steps = this.#shuffle(scripts)
    if (random.chance(0.2)) this.#insert(steps, { do: 'settings', entries: this.#toSettings() })
    if (this.#hasFault) this.#insert(steps, this.#toFault(calls.length))
    const settings: SettingsEntry[] = [[Setting.ENABLE_CONNECT_PROTOCOL, 1]]
    if (random.chance(0.3)) settings.push(...this.#toSettings())
    return { seed, calls, settings, steps }
  }

  /** In each script's own order. */
  #shuffle(scripts: readonly Step[][]): Step[] {
    const steps: Step[] = []
    for (let left = scripts.filter(({ length }) => length > 0); left.length > 0; ) {
      const step = left[this.#random.between(0, left.length - 1)]?.shift()
      if (step !== undefined) steps.push(step)
      left = left.filter(({ length }) => length > 0)
    }
    return steps
  }

  #insert(steps: Step[], step: Step): void {
    steps.splice(this.#random.between(1, steps.length), 0, step)
  }

  #toSettings(): SettingsEntry[] {
    const random = this.#random
    return random.some<SettingsEntry>(
      [
        [Setting.INITIAL_WINDOW_SIZE, random.pick([500, 3_000, 65_535, 1_000_000])],
        [Setting.MAX_FRAME_SIZE, random.pick([16_384, 20_000, 1_000_000])],
        [Setting.HEADER_TABLE_SIZE, random.pick([0, 100, 4_096, 65_536])],
        [0x99, 7],
      ],
      3,
    )
  }

  #toFault(calls: number): Step {
    const random = this.#random
    if (random.chance(0.4)) return { do: 'loss', how: random.pick(['end', 'break']), isGlued: false }
    return {
      do: 'goaway',
      last: random.pick([null, null, -1, random.between(0, calls - 1)]),
      code: random.chance(0.7) ? 0 : random.pick(EVERY_CODE),
      isGlued: random.chance(0.3),
    }
  }

  #toCall(): CallPlan {
    const random = this.#random
    const tunnel = random.chance(0.12) ? random.pick<'connect' | 'websocket'>(['connect', 'websocket']) : null
    const method = tunnel === null ? random.pick(METHODS) : tunnel === 'connect' ? 'CONNECT' : 'GET'
    const mayHaveBody = method === 'POST' || method === 'PUT' || method === 'PATCH'
    const body = mayHaveBody ? random.pick(BODIES) : 'none'
    const hasTrailers = mayHaveBody && random.chance(0.2)
    return {
      method,
      headers: [...new Map(random.some(REQUEST_FIELDS, 4).map((field) => [field[0], field])).values()],
      body,
      pieces: this.#toPieces(body),
      hasLength: random.chance(0.5),
      trailers: hasTrailers ? [['x-sum', '1'], ...random.some<Field>([['x-more', 'm']], 1)] : [],
      expectContinue: body !== 'none' && !this.#hasFault && random.chance(0.1),
      tunnel,
      act: random.chance(0.2)
        ? { at: random.pick(MOMENTS), does: random.pick(['throw', 'abort', 'pause', 'pause']) }
        : null,
    }
  }

  #toPieces(body: BodyKind): Buffer[] {
    const random = this.#random
    if (body === 'none') return []
    if (body === 'bytes') return [random.bytes(random.pick([1, 16_384, 16_385, 70_000]))]
    return Array.from({ length: random.between(1, 4) }, () =>
      random.bytes(random.pick([0, 1, 100, 5_000, 20_000])),
    )
  }

  #toScript(call: CallPlan, index: number): Step[] {
    const random = this.#random
    const steps: Step[] = [{ do: 'dispatch', call: index }]
    if (call.tunnel !== null) return [...steps, ...this.#toTunnel(index)]
    const request = this.#toRequest(call, index)
    const response = this.#toResponse(call, index)
    // Early responses: the body's steps and the response's in any order.
    if (call.body === 'steps' && random.chance(0.5)) return [...steps, ...this.#shuffle([request, response])]
    return [...steps, ...request, ...response]
  }

  #toRequest(call: CallPlan, index: number): Step[] {
    const random = this.#random
    const steps: Step[] = []
    const nothing = Buffer.alloc(0)
    if (call.expectContinue && random.chance(0.6)) {
      const frame = this.#toHeader([[':status', '100']], false)
      steps.push({ do: 'frames', call: index, frames: [frame], isGlued: false })
    } else if (call.expectContinue) {
      return steps
    }
    if (call.body === 'steps') {
      for (const bytes of call.pieces) steps.push({ do: 'client', call: index, verb: 'push', bytes })
      const verb = random.chance(0.1) ? 'breakBody' : 'endBody'
      steps.push({ do: 'client', call: index, verb, bytes: nothing })
    } else {
      steps.push({ do: 'complete', call: index })
    }
    return steps
  }

  #toHeader(fields: readonly Field[], isEnd: boolean): PeerFrame {
    const random = this.#random
    const padding = random.chance(0.15) ? random.between(0, 255) : null
    return { type: 'header', fields, isEnd, padding, parts: random.chance(0.2) ? random.between(2, 5) : 1 }
  }

  #toData(bytes: Buffer, isEnd: boolean): PeerFrame {
    const random = this.#random
    return { type: 'data', bytes, isEnd, padding: random.chance(0.15) ? random.between(0, 255) : null }
  }

  #toResponse(call: CallPlan, index: number): Step[] {
    const random = this.#random
    const status = random.pick(STATUSES)
    const isBare = call.method === 'HEAD' || status === 204 || status === 304
    const frames: PeerFrame[] = random
      .some(INFORMATIONAL, 2)
      .filter(() => random.chance(0.3))
      .map((info) => this.#toHeader([[':status', String(info)], ...random.some(FIELDS, 2)], false))
    const pieces = isBare
      ? random.some([Buffer.alloc(0)], 1)
      : Array.from({ length: random.between(0, 5) }, () =>
          random.bytes(random.pick([0, 1, 10, 1_000, 16_100])),
        )
    const length = pieces.reduce((sum, piece) => sum + piece.length, 0)
    const trailers = random.chance(0.25) ? random.some(FIELDS, 4) : null
    const fields: Field[] = [[':status', String(status)], ...random.some(FIELDS, 9)]
    const lie = random.chance(0.1) ? random.pick([1, -1, 10]) : 0
    if (random.chance(0.5)) fields.push(['content-length', String(Math.max(0, length + lie))])
    const isEmpty = pieces.length === 0 && trailers === null
    frames.push(this.#toHeader(fields, isEmpty))
    for (const [i, piece] of pieces.entries()) {
      frames.push(this.#toData(piece, i === pieces.length - 1 && trailers === null))
    }
    if (trailers !== null) frames.push(this.#toHeader(trailers, true))
    const steps = this.#toSteps(this.#cutShort(frames), index)
    if (random.chance(0.25)) this.#insertClient(steps, index)
    return steps
  }

  /** Sometimes the peer resets the stream, at any stage; where only the end is missing, with NO_ERROR. */
  #cutShort(frames: readonly PeerFrame[]): PeerFrame[] {
    const random = this.#random
    if (!random.chance(0.2)) return [...frames]
    const kept = frames.slice(0, random.between(0, frames.length))
    const last = kept.at(-1)
    if (kept.length === frames.length && last?.type === 'data') {
      return [...kept.slice(0, -1), { ...last, isEnd: false }, { type: 'reset', code: 0 }]
    }
    return [...kept, { type: 'reset', code: random.pick([0, 7, 8, random.pick(EVERY_CODE)]) }]
  }

  /** Some of the frames come in one packet. */
  #toSteps(frames: readonly PeerFrame[], index: number): Step[] {
    const random = this.#random
    const steps: Step[] = []
    for (let at = 0; at < frames.length; ) {
      const count = random.between(1, 3)
      const some = frames.slice(at, at + count)
      // Whether a refused call is sent again before the next packet comes is a matter of luck.
      const isReset = some.some(({ type }) => type === 'reset')
      steps.push({ do: 'frames', call: index, frames: some, isGlued: !isReset && random.chance(0.3) })
      at += count
    }
    return steps
  }

  #insertClient(steps: Step[], call: number): void {
    const verb = this.#random.pick<ClientVerb>(['abort', 'pause', 'resume'])
    const at = this.#random.between(0, steps.length)
    const bytes = Buffer.alloc(0)
    steps.splice(at, 0, { do: 'client', call, verb, bytes })
    if (verb !== 'pause') return
    const later = this.#random.between(at + 1, steps.length)
    if (this.#random.chance(0.7)) steps.splice(later, 0, { do: 'client', call, verb: 'resume', bytes })
  }

  #toTunnel(call: number): Step[] {
    const random = this.#random
    const frame = this.#toHeader(
      [[':status', random.chance(0.85) ? '200' : '403'], ...random.some(FIELDS, 4)],
      random.chance(0.1),
    )
    const peer: Step[] = [{ do: 'frames', call, frames: [frame], isGlued: random.chance(0.3) }]
    if (frame.type === 'header' && frame.isEnd) return peer
    const client: Step[] = []
    const count = random.between(0, 4)
    for (let i = 0; i < count; i++) {
      const bytes = random.bytes(random.pick([1, 100, 16_100]))
      if (random.chance(0.5)) client.push({ do: 'client', call, verb: 'writeTunnel', bytes })
      else
        peer.push({ do: 'frames', call, frames: [this.#toData(bytes, false)], isGlued: random.chance(0.3) })
    }
    const nothing = Buffer.alloc(0)
    if (random.chance(0.6))
      peer.push({ do: 'frames', call, frames: [this.#toData(nothing, true)], isGlued: false })
    else if (random.chance(0.4))
      peer.push({
        do: 'frames',
        call,
        frames: [{ type: 'reset', code: random.pick(EVERY_CODE) }],
        isGlued: false,
      })
    const verb = random.pick<ClientVerb>(['endTunnel', 'endTunnel', 'destroyTunnel', 'abort'])
    if (random.chance(0.8)) client.push({ do: 'client', call, verb, bytes: nothing })
    return this.#shuffle([peer, client])
  }
}

export function toPlan(seed: number): Plan {
  return new Planner(new Random(seed)).plan(seed)
}
