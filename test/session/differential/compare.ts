/** What the engines made of the same scene, call by call. */

import { isDeepStrictEqual } from 'node:util'
import type { CallPlan, PeerFrame, Plan } from './plan.ts'
import type { Seen, SeenRequest } from './play.ts'
import type { Transcript } from './witness.ts'

/** One call as it went on one of the engines. */
export interface CallSeen extends Transcript {
  readonly requests: readonly SeenRequest[]
}

/** One call that didn't go the same way on both. */
export interface Difference {
  readonly plan: Plan
  readonly call: CallPlan
  readonly index: number
  readonly node: CallSeen
  readonly wire: CallSeen
}

/** Why a difference is right as it is. */
export interface KnownDifference {
  readonly name: string
  readonly reason: string
  /** Whether it is this one, and no other beside it. */
  explains(difference: Difference): boolean
}

function toCallSeen({ calls, requests }: Seen, index: number): CallSeen {
  return { ...(calls[index] as Transcript), requests: requests[index] ?? [] }
}

export function toDifferences(plan: Plan, node: Seen, wire: Seen): Difference[] {
  return plan.calls.flatMap((call, index) => {
    const difference = { plan, call, index, node: toCallSeen(node, index), wire: toCallSeen(wire, index) }
    return isDeepStrictEqual(difference.node, difference.wire) ? [] : [difference]
  })
}

/** All that the peer would say to a call, if nothing came in between. */
export function toFrames({ steps }: Plan, call: number): PeerFrame[] {
  return steps.flatMap((step) => (step.do === 'frames' && step.call === call ? [...step.frames] : []))
}

/** The code of the plan's GOAWAY; null for a plan without. */
export function toGoawayCode({ steps }: Plan): number | null {
  for (const step of steps) if (step.do === 'goaway') return step.code
  return null
}

/** How long the response says that its content is; null where it says nothing. */
export function toAnnouncedLength(frames: readonly PeerFrame[]): number | null {
  for (const frame of frames) {
    const field =
      frame.type === 'header' ? frame.fields.find(([name]) => name === 'content-length') : undefined
    if (field !== undefined) return Number(field[1])
  }
  return null
}

/** Whether it announces content where none can be. */
export function hasDeclinedLength(frames: readonly PeerFrame[]): boolean {
  return (toAnnouncedLength(frames) ?? 0) > 0
}

export function toContentLength(frames: readonly PeerFrame[]): number {
  return frames.reduce((sum, frame) => sum + (frame.type === 'data' ? frame.bytes.length : 0), 0)
}

/** Up to the first place where they differ, for the message of a test that fails. */
export function toText({ plan, index, node, wire }: Difference): string {
  const lines = (seen: CallSeen): string[] => JSON.stringify(seen, null, 1).split('\n')
  const [ours, theirs] = [lines(wire), lines(node)]
  const at = ours.findIndex((line, i) => line !== theirs[i])
  const excerpt = (text: readonly string[]): string =>
    text
      .slice(at, at + 3)
      .join(' ')
      .slice(0, 400)
  return `seed ${plan.seed}, call ${index}\n  node ${excerpt(theirs)}\n  wire ${excerpt(ours)}`
}
