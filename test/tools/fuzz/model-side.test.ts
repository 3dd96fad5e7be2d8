import { describe, expect, it } from 'vitest'
import { Flag, frames, Setting, Type, toFrames } from '../../../src/testing/frames.ts'
import { Random } from '../../protocol/hpack/support.ts'
import type { ModelCall, ModelServerPlan } from './model-plan.ts'
import { ModelSide } from './model-side.ts'
import { VirtualTime } from './virtual-time.ts'

const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')
const WINDOW = 65_535
const SIZE = 200_000
/** Turns of the event loop in which a side writes all that the windows allow. */
const TURNS = 20

const PLAN: ModelServerPlan = {
  threads: 16,
  credit: 'as read',
  collectsCredit: false,
  readPiece: 1_000,
  readGap: 0,
  first: { window: WINDOW, streams: 100, frameSize: 16_384, tableSize: 4_096 },
  changes: [],
  refuses: 0,
  retiresAfter: 0,
  retiresInTwoSteps: false,
  pings: 0,
  isNoisy: false,
  cut: 'whole',
  settingsDelay: 0,
  violation: null,
}

function toCall(piece: number, isPadded: boolean): ModelCall {
  return {
    method: 'GET',
    at: 0,
    fields: {},
    upload: { kind: 'none', size: 0, piece: 1, gap: 0 },
    reader: 'at once',
    abortsAt: null,
    response: {
      status: 200,
      fields: {},
      size: SIZE,
      piece,
      gap: 0,
      hasLength: true,
      informational: 0,
      trailers: null,
      isPadded,
      isEarly: false,
      resetCode: null,
    },
  }
}

/** A client that has sent one request for each call, with stream windows that hold all of a response. */
function connect(calls: readonly ModelCall[]) {
  const written: Buffer[] = []
  const faults: string[] = []
  const owner = {
    isOfNode: false,
    calls,
    onTaken: () => {},
    onRefused: () => {},
    onFault: (what: string) => faults.push(what),
  }
  const side = new ModelSide(0, PLAN, owner, new VirtualTime(), new Random(1))
  side.start({ isOpen: true, write: (bytes) => written.push(bytes), end: () => {}, reset: () => {} })
  const requests = calls.map((_call, index) =>
    frames.headers(
      2 * index + 1,
      [
        [':method', 'GET'],
        [':scheme', 'http'],
        [':authority', 'a.test'],
        [':path', `/${index}`],
        ['x-call', `${index}`],
      ],
      Flag.END_STREAM,
    ),
  )
  const settings = frames.settings([Setting.INITIAL_WINDOW_SIZE, 10 * SIZE])
  side.onBytes(Buffer.concat([PREFACE, settings, ...requests]))
  return { side, written, faults }
}

async function settle(): Promise<void> {
  for (let turn = 0; turn < TURNS; turn++) await new Promise((resolve) => setImmediate(resolve))
}

describe('responses of a model server that share the window of the connection', () => {
  it.each([
    ['small, with padding, and large', [toCall(1_167, true), toCall(16_384, false)]],
    ['large, and small', [toCall(16_384, false), toCall(1_167, false)]],
    ['large, with padding', [toCall(16_384, true), toCall(16_384, true)]],
    ['of many streams', Array.from({ length: 5 }, (_, index) => toCall(5_000 + 1_000 * index, false))],
  ])('when their frames are %s › keep to it, use it up, and end', async (_what, calls) => {
    const { side, written, faults } = connect(calls)
    const toData = () => toFrames(Buffer.concat(written)).filter(({ type }) => type === Type.DATA)
    const count = () => toData().reduce((sum, { payload }) => sum + payload.length, 0)
    const hasEnded = () =>
      toData().filter(({ flags }) => (flags & Flag.END_STREAM) !== 0).length === calls.length
    let window = WINDOW
    await settle()
    for (; !hasEnded(); await settle()) {
      expect(count()).toBe(window)
      window += 30_001
      side.onBytes(frames.windowUpdate(0, 30_001))
    }
    expect(count()).toBeLessThanOrEqual(window)
    expect(faults).toEqual([])
  })
})
