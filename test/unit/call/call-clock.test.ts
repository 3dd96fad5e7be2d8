import { describe, expect, it } from 'vitest'
import type { LateListener, Lateness } from '../../../src/call/call-clock.ts'
import { CallClock } from '../../../src/call/call-clock.ts'
import { Deadlines } from '../../../src/core/clock.ts'
import type { Limits } from '../../../src/options/limits.ts'
import { toLimits } from '../../../src/options/limits.ts'
import { toClientOptions } from '../../../src/options/options.ts'
import type { CallLimits } from '../../../types/limits.ts'
import { FakeClock } from '../../support/clocks/fake-clock.ts'

/** The longest that a deadline may be met after its time, in milliseconds. */
const RESOLUTION = 50
/** RFC 9110 §10.1.1: how long a body waits for 100 Continue. Milliseconds. */
const CONTINUE_TIMEOUT = 1_000

const LIMITS = {
  queueTimeout: 10_000,
  connectTimeout: 3_000,
  headersTimeout: 20_000,
  bodyTimeout: 30_000,
  uploadTimeout: 40_000,
  requestTimeout: 0,
}

/** A call's clock, and the limits that it reports with their times. */
class Scene implements LateListener {
  readonly time = new FakeClock()
  readonly deadlines = new Deadlines(this.time)
  readonly told: [Lateness, number][] = []
  readonly clock: CallClock
  readonly #start = this.time.now()
  /** What happens when a limit passes: the call ends, except for a 100 Continue that did not come. */
  onLimit: (lateness: Lateness) => void = (lateness) => {
    if (lateness !== 'continue') this.clock.stop()
  }

  readonly limits: Limits

  constructor(limits: CallLimits = {}, ofDispatcher: CallLimits = {}) {
    this.limits = toLimits({ ...LIMITS, ...limits }, toClientOptions(ofDispatcher).limits)
    this.clock = new CallClock(this.deadlines, this)
  }

  onLate(lateness: Lateness): void {
    this.told.push([lateness, this.time.now() - this.#start])
    this.onLimit(lateness)
  }

  /** Advances far beyond every limit. */
  finish(): [Lateness, number][] {
    this.time.advance(10_000_000)
    return this.told
  }
}

const phases = [
  ['queue', (clock: CallClock) => clock.queue(), { connectTimeout: 0 }, 10_000],
  ['connect', (clock: CallClock) => clock.queue(), {}, 3_000],
  ['continue', (clock: CallClock) => clock.open('waiting'), {}, CONTINUE_TIMEOUT],
  ['headers', (clock: CallClock) => clock.open('none'), {}, 20_000],
  ['upload', (clock: CallClock) => clock.open('sending'), {}, 40_000],
  ['body', (clock: CallClock) => clock.body(), {}, 30_000],
  ['request', (clock: CallClock) => clock.start(), { requestTimeout: 50_000 }, 50_000],
] as const

describe('CallClock', () => {
  describe('when one limit runs', () => {
    it.each(phases)('reports that limit at its time, once: %s', (lateness, begin, limits, at) => {
      const scene = new Scene(limits)
      begin(scene.clock)
      scene.time.advance(at - 1)
      expect(scene.told).toEqual([])
      expect(scene.finish()).toEqual([[lateness, at]])
      expect(scene.deadlines.size).toBe(0)
    })

    it.each(phases)('reports nothing once that limit is stopped: %s', (_lateness, begin, limits) => {
      const scene = new Scene(limits)
      begin(scene.clock)
      scene.clock.stop()
      expect(scene.deadlines.size).toBe(0)
      expect(scene.finish()).toEqual([])
    })
  })

  describe('when a limit is 0', () => {
    const disabled = [
      ['queue', (clock: CallClock) => clock.queue(), { queueTimeout: 0, connectTimeout: 0 }],
      ['headers', (clock: CallClock) => clock.open('none'), { headersTimeout: 0 }],
      ['upload', (clock: CallClock) => clock.open('sending'), { uploadTimeout: 0 }],
      ['upload, once it makes progress', (clock: CallClock) => clock.upload(), { uploadTimeout: 0 }],
      ['body', (clock: CallClock) => clock.body(), { bodyTimeout: 0 }],
      ['request', (clock: CallClock) => clock.start(), { requestTimeout: 0 }],
    ] as const
    it.each(disabled)('never reports it: %s', (_what, begin, limits) => {
      const scene = new Scene(limits)
      begin(scene.clock)
      expect(scene.finish()).toEqual([])
    })

    it('sets no alarm', () => {
      const scene = new Scene({ queueTimeout: 0, connectTimeout: 0, headersTimeout: 0 })
      scene.clock.start()
      scene.clock.queue()
      scene.clock.open('none')
      expect(scene.time.made).toBe(0)
    })
  })

  describe('when connectTimeout is not set by the request', () => {
    it('leaves it to the connection attempt', () => {
      const scene = new Scene()
      const { limits } = toClientOptions({ connectTimeout: 5 })
      const clock = new CallClock(scene.deadlines, { limits, onLate: (lateness) => scene.onLate(lateness) })
      clock.queue()
      scene.time.advance(200_000)
      expect(scene.told).toEqual([])
      clock.stop()
      expect(scene.deadlines.size).toBe(0)
    })
  })

  describe('when a stream was opened', () => {
    it('reports neither queueTimeout nor connectTimeout', () => {
      const scene = new Scene({ headersTimeout: 0 })
      scene.clock.queue()
      scene.clock.open('none')
      expect(scene.finish()).toEqual([])
    })

    it('counts headersTimeout from then', () => {
      const scene = new Scene()
      scene.clock.queue()
      scene.time.advance(2_000)
      scene.clock.open('none')
      expect(scene.finish()).toEqual([['headers', 22_000]])
    })
  })

  describe('when the body of the request is sent', () => {
    it('counts uploadTimeout from its last progress', () => {
      const scene = new Scene()
      scene.clock.open('sending')
      for (let i = 0; i < 5; i++) {
        scene.time.advance(39_000)
        scene.clock.upload()
      }
      expect(scene.finish()).toEqual([['upload', 5 * 39_000 + 40_000]])
    })

    it('counts headersTimeout from its end', () => {
      const scene = new Scene()
      scene.clock.open('sending')
      scene.time.advance(39_000)
      scene.clock.uploaded()
      const [[lateness, at] = ['idle', 0]] = scene.finish()
      expect(lateness).toBe('headers')
      expect(at).toBeGreaterThanOrEqual(59_000)
      expect(at).toBeLessThanOrEqual(59_000 + RESOLUTION)
    })
  })

  describe('when the body waits for 100 Continue', () => {
    it('reports the end of that wait first, and then nothing until the body moves', () => {
      const scene = new Scene()
      scene.clock.open('waiting')
      expect(scene.finish()).toEqual([['continue', CONTINUE_TIMEOUT]])
    })

    it('counts uploadTimeout from when the body moves', () => {
      const scene = new Scene()
      scene.onLimit = (lateness) => (lateness === 'continue' ? scene.clock.upload() : scene.clock.stop())
      scene.clock.open('waiting')
      expect(scene.finish()).toEqual([
        ['continue', CONTINUE_TIMEOUT],
        ['upload', CONTINUE_TIMEOUT + 40_000],
      ])
    })

    it('waits no longer once 100 Continue has come', () => {
      const scene = new Scene()
      scene.clock.open('waiting')
      scene.time.advance(500)
      scene.clock.upload()
      expect(scene.finish().map(([lateness]) => lateness)).toEqual(['upload'])
    })

    it('goes on waiting beside the response, whose server may wait for the body', () => {
      const scene = new Scene()
      scene.clock.open('waiting')
      scene.clock.body()
      expect(scene.finish()).toEqual([
        ['continue', CONTINUE_TIMEOUT],
        ['body', 30_000],
      ])
    })

    it.each([
      ['the call is queued again', (clock: CallClock) => clock.queue()],
      ['the server wants no more of the body', (clock: CallClock) => clock.uploaded()],
    ])('waits no longer once %s', (_what, end) => {
      const scene = new Scene()
      scene.clock.open('waiting')
      end(scene.clock)
      expect(scene.finish().map(([lateness]) => lateness)).not.toContain('continue')
    })
  })

  describe('when the response comes while the body is sent', () => {
    it.each([
      ['body', { bodyTimeout: 5_000, uploadTimeout: 6_000 }, 5_000],
      ['upload', { bodyTimeout: 6_000, uploadTimeout: 5_000 }, 5_000],
    ] as const)('reports first the direction that has stalled: %s', (lateness, limits, at) => {
      const scene = new Scene(limits)
      scene.clock.open('sending')
      scene.clock.body()
      expect(scene.finish()).toEqual([[lateness, at]])
    })

    it('does not count progress of one direction for the other', () => {
      const scene = new Scene({ bodyTimeout: 5_000, uploadTimeout: 5_000 })
      scene.clock.open('sending')
      scene.clock.body()
      for (let i = 0; i < 4; i++) {
        scene.time.advance(1_000)
        scene.clock.upload()
      }
      expect(scene.finish()).toEqual([['body', 5_000]])
    })

    it('does not wait for the header again at the end of the request', () => {
      const scene = new Scene({ headersTimeout: 1_000 })
      scene.clock.open('sending')
      scene.clock.body()
      scene.clock.uploaded()
      expect(scene.finish()).toEqual([['body', 30_000]])
    })

    it('reports uploadTimeout alone while the reader holds the response back', () => {
      const scene = new Scene({ bodyTimeout: 1_000 })
      scene.clock.open('sending')
      scene.clock.body()
      scene.clock.holdBody()
      expect(scene.finish()).toEqual([['upload', 40_000]])
    })
  })

  describe('when the reader holds the response back', () => {
    it('counts bodyTimeout anew when the reader resumes', () => {
      const scene = new Scene()
      scene.clock.body()
      scene.clock.holdBody()
      scene.time.advance(100_000)
      scene.clock.body()
      expect(scene.finish()).toEqual([['body', 130_000]])
    })

    it('still enforces requestTimeout', () => {
      const scene = new Scene({ requestTimeout: 50_000 })
      scene.clock.start()
      scene.clock.body()
      scene.clock.holdBody()
      expect(scene.finish()).toEqual([['request', 50_000]])
    })
  })

  describe('when the call is queued again', () => {
    it('starts queueTimeout anew, and keeps nothing of the attempt that failed', () => {
      const scene = new Scene({ connectTimeout: 0, uploadTimeout: 5_000 })
      scene.clock.queue()
      scene.clock.open('sending')
      scene.time.advance(4_000)
      scene.clock.queue()
      expect(scene.finish()).toEqual([['queue', 14_000]])
    })

    it('continues to count requestTimeout', () => {
      const scene = new Scene({ requestTimeout: 50_000, headersTimeout: 0 })
      scene.clock.start()
      for (let i = 0; i < 10; i++) {
        scene.clock.queue()
        scene.time.advance(2_000)
        scene.clock.open('none')
        scene.time.advance(2_000)
      }
      expect(scene.finish()).toEqual([['request', 50_000]])
    })
  })

  describe('when no queueTimeout was given', () => {
    const toScene = (limits: CallLimits): Scene => new Scene({ queueTimeout: null, ...limits }, {})

    it.each([
      [{ headersTimeout: 5_000 }, 5_000],
      [{ headersTimeout: 0 }, 300_000],
      [{ headersTimeout: 400_000 }, 300_000],
    ])('headersTimeout bounds the queue, where it is shorter than the default: %o', (limits, at) => {
      const scene = toScene({ ...limits, connectTimeout: 0 })
      scene.clock.queue()
      expect(scene.finish()).toEqual([['queue', at]])
    })

    it('a dispatcher’s queueTimeout is one that was given', () => {
      const scene = new Scene(
        { queueTimeout: null, headersTimeout: 5_000, connectTimeout: 0 },
        { queueTimeout: 7_000 },
      )
      scene.clock.queue()
      expect(scene.finish()).toEqual([['queue', 7_000]])
    })

    it('while it waits for a connection, the limit begins anew, up to the default in all', () => {
      const scene = toScene({ headersTimeout: 70_000, connectTimeout: 0 })
      const isOver: boolean[] = []
      scene.onLimit = () => isOver.push(!scene.clock.queueOn())
      scene.clock.queue()
      expect(scene.finish().map(([, at]) => at)).toEqual([70_000, 140_000, 210_000, 280_000, 300_000])
      expect(isOver).toEqual([false, false, false, false, true])
    })
  })

  describe('when several limits pass at once', () => {
    it.each([
      ['request', { requestTimeout: 5_000, uploadTimeout: 5_000, bodyTimeout: 5_000 }],
      ['upload', { uploadTimeout: 5_000, bodyTimeout: 5_000 }],
    ] as const)('reports one of them, and the call is over: %s', (lateness, limits) => {
      const scene = new Scene(limits)
      scene.clock.start()
      scene.clock.open('sending')
      scene.clock.body()
      expect(scene.finish()).toEqual([[lateness, 5_000]])
      expect(scene.deadlines.size).toBe(0)
    })

    it('reports the connection rather than the queue', () => {
      const scene = new Scene({ queueTimeout: 5_000, connectTimeout: 5_000 })
      scene.clock.queue()
      expect(scene.finish()).toEqual([['connect', 5_000]])
    })

    it('reports the other limits when the call outlives the first', () => {
      const scene = new Scene({ queueTimeout: 5_000, connectTimeout: 3_000 })
      scene.onLimit = (lateness) => lateness === 'queue' && scene.clock.stop()
      scene.clock.queue()
      expect(scene.finish()).toEqual([
        ['connect', 3_000],
        ['queue', 5_000],
      ])
    })

    it('does so when both have passed before the process runs its timers', () => {
      const scene = new Scene({ queueTimeout: 5_000, connectTimeout: 3_000 })
      scene.onLimit = (lateness) => lateness === 'queue' && scene.clock.stop()
      scene.clock.queue()
      scene.time.skip(7_000)
      scene.time.advance(0)
      expect(scene.finish().map(([lateness]) => lateness)).toEqual(['connect', 'queue'])
    })
  })

  describe('when many limits run', () => {
    it('has one entry in the list of deadlines', () => {
      const scene = new Scene({ requestTimeout: 50_000 })
      scene.clock.start()
      scene.clock.queue()
      expect(scene.deadlines.size).toBe(1)
      scene.clock.open('sending')
      scene.clock.body()
      scene.clock.upload()
      expect(scene.deadlines.size).toBe(1)
      scene.clock.stop()
      expect(scene.deadlines.size).toBe(0)
    })

    it('sets no alarm at each progress', () => {
      const scene = new Scene()
      scene.clock.body()
      for (let i = 0; i < 1_000; i++) {
        scene.time.skip(0.1)
        scene.clock.body()
        scene.clock.upload()
      }
      expect(scene.time.made).toBe(1)
    })
  })
})

describe('a requestTimeout below a second', () => {
  it.each([
    { requestTimeout: 999, most: 5 },
    { requestTimeout: 1_000, most: 50 },
  ])('of $requestTimeout is met within $most ms, even just after other deadlines were checked', ({
    requestTimeout,
    most,
  }) => {
    const scene = new Scene({ requestTimeout })
    scene.clock.start()
    // In the same list, and due a moment before: the next check comes as late as it may.
    const limits = toLimits({ requestTimeout }, toClientOptions({}).limits)
    const before = new CallClock(scene.deadlines, { limits, onLate() {} })
    scene.deadlines
      .listFor(requestTimeout)
      .set(before, scene.time.now() + requestTimeout - 1.5, scene.time.now())
    const [told] = scene.finish()
    expect(told?.[0]).toBe('request')
    expect(told?.[1]).toBeGreaterThanOrEqual(requestTimeout)
    expect(told?.[1]).toBeLessThanOrEqual(requestTimeout + most)
  })

  it('makes the other limits of its call as exact', () => {
    const scene = new Scene({ requestTimeout: 900, headersTimeout: 100 })
    scene.clock.start()
    scene.clock.open('none')
    const [told] = scene.finish()
    expect(told?.[0]).toBe('headers')
    expect(told?.[1]).toBeLessThanOrEqual(105)
  })
})

describe('an attempt without a connection', () => {
  it('that has sent its body before the connection is there waits for the response from then on', () => {
    const scene = new Scene({ connectTimeout: 3_000 })
    scene.clock.queue()
    scene.clock.open('sending', false)
    scene.clock.upload()
    scene.clock.uploaded()
    scene.time.advance(1_000)
    scene.clock.connected()
    expect(scene.finish()).toEqual([['headers', 20_000]])
  })

  it('that has begun to send its body goes on when the connection is there', () => {
    const scene = new Scene()
    scene.clock.queue()
    scene.clock.open('sending', false)
    scene.clock.upload()
    scene.time.advance(1_000)
    scene.clock.connected()
    expect(scene.finish()).toEqual([['upload', 40_000]])
  })

  it('that has sent nothing waits for the connection', () => {
    const scene = new Scene()
    scene.clock.queue()
    scene.clock.open('sending', false)
    expect(scene.finish()).toEqual([['connect', 3_000]])
  })
})
