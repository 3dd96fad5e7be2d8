/**
 * Both engines play the same scenes against the same peer, frame by frame, and the peer and the callers have to see the
 * same.
 *
 * A scene that fails says its seed: `SEED=1665 npx vitest run test/session/differential.test.ts` plays it alone.
 */

import { isDeepStrictEqual } from 'node:util'
import { beforeAll, describe, expect, it } from 'vitest'
import { REFUSED_STREAM } from '../support/peers/error-codes.ts'
import type { CallSeen, KnownDifference } from './differential/compare.ts'
import {
  hasDeclinedLength,
  toAnnouncedLength,
  toContentLength,
  toDifferences,
  toFrames,
  toGoawayCode,
  toText,
} from './differential/compare.ts'
import type { Plan } from './differential/plan.ts'
import { toPlan } from './differential/plans.ts'
import { play } from './differential/play.ts'

/** Scenes of one to three exchanges each. */
const BATCHES = 16
const SCENES_OF_BATCH = 53
/** How many scenes are under way at a time: each waits for its own peer most of the time. */
const AT_ONCE = 4

/** The seed of the only scene to be played; NaN for all of them. */
const ONLY = Number(process.env.SEED ?? Number.NaN)

/** Whether the peer says, of this call or of several, that it hasn't processed it. */
function isRefused(plan: Plan, index: number): boolean {
  if (toGoawayCode(plan) !== null) return true
  return toFrames(plan, index).some(
    (frame) =>
      (frame.type === 'reset' && frame.code === REFUSED_STREAM) ||
      (frame.type === 'header' &&
        frame.fields.some(([name, value]) => name === ':status' && value === '421')),
  )
}

/** Whether they are the same but for some of what was seen. */
function isSameBut(node: CallSeen, wire: CallSeen, ignored: Partial<CallSeen>): boolean {
  return isDeepStrictEqual({ ...node, ...ignored }, { ...wire, ...ignored })
}

function toTunnelError(event: string): CallSeen['error'] {
  return event.startsWith('error ') ? JSON.parse(event.slice('error '.length)) : null
}

/** The header of a 204 without what nghttp2 takes out of it; any other event as it is. */
function toText204(event: string): string {
  if (!event.startsWith('response 204')) return event
  const [headers = '', raw = ''] = event.slice('response 204 '.length).split(' raw ')
  const fields: string[] = JSON.parse(raw)
  const at = fields.indexOf('content-length')
  const kept = JSON.parse(headers).filter(([name]: readonly unknown[]) => name !== 'content-length')
  return JSON.stringify([kept, at === -1 ? fields : fields.toSpliced(at, 2)])
}

function has204({ events }: CallSeen): boolean {
  return events.some((event) => event.startsWith('response 204'))
}

/** Its content is longer or shorter than the response says. */
function isMismatch(plan: Plan, index: number): boolean {
  const frames = toFrames(plan, index)
  const announced = toAnnouncedLength(frames)
  return announced !== null && announced !== toContentLength(frames)
}

function withoutResets({ requests }: CallSeen): CallSeen['requests'] {
  return requests.map((request) => ({ ...request, resetCode: null }))
}

/** Without how far they came. */
function withoutBodies({ requests }: CallSeen): CallSeen['requests'] {
  return requests.map(({ connection, fields }) => {
    return { connection, fields, isComplete: false, body: '', trailers: null, resetCode: null }
  })
}

/** On engine node the call may have another attempt, and so another connection. */
const CREDITED: KnownDifference = {
  name: 'credit for a body, and then a refusal',
  reason: 'node:http2 does not tell of WINDOW_UPDATE, so that the refusal is believed (docs/retries.md)',
  explains: ({ plan, index, call, node, wire }) =>
    call.body !== 'none' &&
    isRefused(plan, index) &&
    (wire.requests.length < node.requests.length ||
      (node.error?.processed === 'no' && wire.error?.processed === 'maybe')),
}

/** Every difference between the engines that is right as it is. */
const KNOWN: readonly KnownDifference[] = [
  {
    name: 'a 204 that says content-length: 0',
    reason: 'nghttp2 takes the field out (RFC 9110 §8.6 forbids it); wire hands on what came',
    explains: ({ node, wire }) =>
      has204(wire) &&
      isDeepStrictEqual(
        { ...node, events: node.events.map(toText204) },
        { ...wire, events: wire.events.map(toText204) },
      ),
  },
  {
    name: 'a 204 that announces more than that',
    reason:
      'nghttp2 resets the stream before Node sees the header section; wire passes it on, as no content may follow',
    explains: ({ node, wire, plan, index }) =>
      has204(wire) && hasDeclinedLength(toFrames(plan, index)) && node.error?.name === 'StreamError',
  },
  {
    name: 'a length that no content follows',
    reason: 'nghttp2 resets the stream before Node sees the header section (docs/differences.md)',
    explains: ({ plan, index, node, wire }) => {
      const isEmpty = toContentLength(toFrames(plan, index)) === 0
      if (!isEmpty || !isMismatch(plan, index) || node.error?.name !== 'StreamError') return false
      return wire.error?.name === 'ResponseContentLengthMismatchError' || wire.error?.name === 'Planned'
    },
  },
  {
    name: 'content of another length than announced',
    reason:
      'nghttp2 resets the stream before Node sees the last piece, or ends the session (docs/differences.md); wire ends the call',
    explains: ({ plan, index, node, wire }) => {
      if (!isMismatch(plan, index)) return false
      const isFailure = node.error !== null && wire.error?.name === 'ResponseContentLengthMismatchError'
      if (isFailure && wire.body.startsWith(node.body)) return true
      return isSameBut(
        { ...node, requests: withoutResets(node) },
        { ...wire, requests: withoutResets(wire) },
        {},
      )
    },
  },
  {
    name: 'a sibling of such a response',
    reason:
      'Node 22 and later: nghttp2 ends the whole session at content beyond its length (docs/differences.md)',
    explains: ({ plan, node }) =>
      plan.calls.some((_call, index) => isMismatch(plan, index)) &&
      ([node.error, ...node.tunnel.map(toTunnelError)].some((error) => error?.name === 'SocketError') ||
        node.requests.some(({ connection }) => connection > 0)),
  },
  {
    name: 'onRequestSent of a stream that was reset',
    reason: 'node ends our side of a stream that the peer resets, and calls that finished',
    explains: ({ plan, index, node, wire }) => {
      const isReset = toFrames(plan, index).some(({ type }) => type === 'reset') || node.error !== null
      return isReset && node.sent === wire.sent + 1 && isSameBut(node, wire, { sent: 0 })
    },
  },
  {
    name: 'a body that waited, and a response that comes whole',
    reason:
      'the 2xx lets the body go, its end a moment later makes it needless: how much of it goes out is a race',
    explains: ({ call, node, wire }) =>
      call.expectContinue && node.error === null && isSameBut(node, wire, { sent: 0, requests: [] }),
  },
  {
    name: 'how far an upload came before the connection was lost',
    reason:
      'no call waited for it: the peer had sent GOAWAY, or had closed the connection, while it was in flight',
    explains: ({ call, node, wire }) =>
      call.body !== 'none' &&
      node.error !== null &&
      isSameBut(
        { ...node, requests: withoutBodies(node) },
        { ...wire, requests: withoutBodies(wire) },
        { sent: 0 },
      ),
  },
  {
    name: 'a whole response that is held after a graceful GOAWAY',
    reason: 'node closes the session, so that it is handed on paused or not; wire waits for its reader',
    explains: ({ plan, node, wire }) =>
      toGoawayCode(plan) === 0 &&
      node.error === null &&
      node.events.at(-1)?.startsWith('end') === true &&
      wire.error?.name === 'Planned',
  },
  CREDITED,
  {
    name: 'pieces that were held',
    reason:
      'wire hands small ones on as one: a handler that ends the call at its first piece has seen more by then',
    explains: ({ call, node, wire }) =>
      call.act?.at === 'data' && wire.body.startsWith(node.body) && isSameBut(node, wire, { body: '' }),
  },
]

/** What is wrong with a scene; empty for nothing. */
async function toFaults(plan: Plan): Promise<string[]> {
  const [node, wire] = await Promise.all([play(plan, 'node'), play(plan, 'wire')])
  const differences = toDifferences(plan, node, wire)
  const faults = differences
    .filter((difference) => !KNOWN.some((known) => known.explains(difference)))
    .map(toText)
  const isSessionEnded =
    (toGoawayCode(plan) ?? 0) !== 0 || plan.calls.some((_call, index) => isMismatch(plan, index))
  const isCredited = differences.some((difference) => CREDITED.explains(difference))
  if (!isSessionEnded && !isCredited && !isDeepStrictEqual(node.connections, wire.connections))
    faults.push(`seed ${plan.seed}: connections of node ${node.connections}, of wire ${wire.connections}`)
  for (const left of node.left) faults.push(`seed ${plan.seed}: engine node leaves ${left}`)
  for (const left of wire.left) faults.push(`seed ${plan.seed}: engine wire leaves ${left}`)
  return faults
}

/** Plays the scenes of these seeds, a few at a time. */
async function playAll(seeds: readonly number[]): Promise<string[]> {
  const left = [...seeds]
  const faults: string[] = []
  const worker = async (): Promise<void> => {
    for (let seed = left.shift(); seed !== undefined; seed = left.shift()) {
      faults.push(...(await toFaults(toPlan(seed))))
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
  return faults
}

function toSeeds(from: number, count: number): number[] {
  return Array.from({ length: count }, (_none, i) => from + i)
}

describe('the engines, played against the same peer,', () => {
  // A scene counts turns of the event loop, and on a busy machine a module takes too many of them to load.
  beforeAll(async () => {
    await Promise.all([
      import('../../src/session/node/node-engine.ts'),
      import('../../src/session/wire/wire-engine.ts'),
    ])
  })

  const starts = Array.from({ length: BATCHES }, (_none, i) => i * SCENES_OF_BATCH)
  const [froms, count] = Number.isNaN(ONLY) ? [starts, SCENES_OF_BATCH] : [[ONLY], 1]

  it.each(froms)('tell their handlers and the peer the same, from seed %d on', async (from) => {
    expect(await playAll(toSeeds(from, count))).toEqual([])
  })

  it('go through more than 1,500 exchanges, and through everything that a plan can hold', () => {
    const plans = toSeeds(0, BATCHES * SCENES_OF_BATCH).map(toPlan)
    const calls = plans.flatMap((plan) => plan.calls)
    const steps = plans.flatMap((plan) => plan.steps)
    const seen = new Set<unknown>([
      ...calls.flatMap((call) => [call.body, call.tunnel, `${call.act?.does}@${call.act?.at}`]),
      ...steps.flatMap((step) => [step.do, step.do === 'client' ? step.verb : null]),
      ...steps.flatMap((step) => (step.do === 'loss' ? [step.how] : [])),
    ])
    expect(calls.length).toBeGreaterThan(1_500)
    // 10 kinds of bodies, 2 of tunnels and none, 3 acts at 6 moments and none, 7 steps (one has 9 verbs), 2 losses.
    expect(seen.size).toBe(10 + 2 + 1 + 18 + 1 + 7 + 9 + 2)
    const codes = toSeeds(0, plans.length).flatMap((seed) =>
      toPlan(seed).steps.flatMap((step) => (step.do === 'frames' ? step.frames : [])),
    )
    const resets = new Set(codes.flatMap((frame) => (frame.type === 'reset' ? [frame.code] : [])))
    expect(resets.size).toBe(16)
  })
})
