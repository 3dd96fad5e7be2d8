import { Readable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Call } from '../../../src/call/call.ts'
import type { CallState } from '../../../src/call/call-state.ts'
import {
  BodyTimeoutError,
  DodiciError,
  HeadersTimeoutError,
  RequestAbortedError,
  StreamError,
} from '../../../src/errors/errors.ts'
import type { DispatchOptions } from '../../../types/request.ts'
import type { Method } from './call-scene.ts'
import { BODY_TIMEOUT, HEADERS_TIMEOUT, MARGIN, Scene, TestAttempt, TestHandler } from './call-scene.ts'

/** Uncaught exceptions: the runner's own listener would end the whole run instead of failing this test. */
const uncaught: unknown[] = []
beforeEach(() => {
  uncaught.length = 0
  process.setUncaughtExceptionCaptureCallback((error) => uncaught.push(error))
})
afterEach(() => {
  process.setUncaughtExceptionCaptureCallback(null)
  expect(uncaught).toEqual([])
})

describe('Call', () => {
  it('promises that its raw headers stay unchanged', () => {
    expect(new Scene().call.controller.hasLastingRawHeaders).toBe(true)
  })

  describe('when the exchange succeeds', () => {
    it('passes on what came, unchanged', () => {
      const scene = new Scene()
      const got: unknown[] = []
      const call = new Call(
        scene.call.request,
        {
          onRequestStart: (...given) => void got.push(given),
          onResponseStart: (...given) => void got.push(given),
          onResponseData: (...given) => void got.push(given),
          onResponseEnd: (...given) => void got.push(given),
        },
        scene.owner,
        0,
      )
      const headers = { 'x-a': '1' }
      const chunk = Buffer.from('abc')
      const trailers = { 'x-b': '2' }
      call.start()
      call.begin(scene.attempt)
      call.respond(404, headers, [])
      call.data(chunk)
      call.complete(trailers, null)
      expect(got).toEqual([
        [call.controller, null],
        [call.controller, 404, headers, ''],
        [call.controller, chunk],
        [call.controller, trailers],
      ])
    })

    it('goes through its states in order', () => {
      const scene = new Scene()
      const states: CallState[] = []
      const note = () => void states.push(scene.call.state)
      scene.handler.acts = {
        onRequestStart: note,
        onResponseStart: note,
        onResponseData: note,
        onResponseEnd: note,
      }
      note()
      expect(scene.call.start()).toBe(true)
      note()
      scene.call.begin(scene.attempt)
      note()
      scene.respond()
      scene.data()
      scene.complete()
      expect(states).toEqual(['created', 'created', 'queued', 'running', 'receiving', 'receiving', 'settled'])
      expect(scene.owner.settled).toEqual(['receiving'])
    })

    it('leaves no deadline behind, and resets no stream', () => {
      const scene = new Scene().to('settled')
      expect(scene.owner.deadlines.size).toBe(0)
      expect(scene.attempt.told).toEqual([])
      scene.clock.advance(1_000_000)
      expect(scene.handler.errors).toEqual([])
      expect(scene.call.controller).toMatchObject({ aborted: false, reason: null })
    })
  })

  describe('when its handler has only some of the methods', () => {
    it('skips the missing methods', () => {
      const scene = new Scene()
      const finished = new Call(scene.call.request, {}, scene.owner, 0)
      expect(finished.start()).toBe(true)
      finished.begin(scene.attempt)
      finished.respond(200, {}, [])
      finished.data(Buffer.from('abc'))
      finished.complete({}, null)
      const failed = new Call(scene.call.request, {}, scene.owner, 1)
      failed.fail(new Error('It broke'))
      expect([finished.state, failed.state]).toEqual(['settled', 'settled'])
    })
  })

  describe('when an informational response comes', () => {
    it('passes it on and continues to wait for the final response', () => {
      const scene = new Scene().to('running')
      scene.respond(103)
      expect(scene.call.state).toBe('running')
      scene.respond(100)
      scene.respond(200)
      expect(scene.call.state).toBe('receiving')
      expect(scene.handler.statuses).toEqual([103, 100, 200])
    })

    it.each([
      [199, 'running'],
      [200, 'receiving'],
      [204, 'receiving'],
      [304, 'receiving'],
      [599, 'receiving'],
    ])('distinguishes it from a final response by its status: %i', (statusCode, state) => {
      const scene = new Scene().to('running')
      scene.respond(statusCode)
      expect(scene.call.state).toBe(state)
    })
  })

  describe('when a second final response comes', () => {
    it('ignores it', () => {
      const scene = new Scene().to('receiving')
      scene.respond(500, ['x-b', '2'])
      expect(scene.handler.statuses).toEqual([200])
      expect(scene.call.rawHeaders).toEqual(['x-a', '1'])
    })
  })

  describe('when the response header is late', () => {
    it('fails after headersTimeout, and resets the stream', () => {
      const scene = new Scene().to('running')
      scene.clock.advance(HEADERS_TIMEOUT - 1)
      expect(scene.call.state).toBe('running')
      scene.clock.advance(MARGIN)
      expect(scene.handler.errors).toEqual([expect.any(HeadersTimeoutError)])
      expect(scene.handler.errors[0]).toMatchObject({
        message: 'No response within headersTimeout (1000 ms)',
        processed: 'maybe',
        attempts: 1,
        streamId: 1,
      })
      expect(scene.attempt.told).toEqual(['cancel'])
    })

    it('counts from the end of the request', () => {
      const scene = new Scene({ method: 'POST', body: 'abc' }).to('running')
      for (let i = 0; i < 5; i++) {
        scene.clock.advance(HEADERS_TIMEOUT + MARGIN)
        scene.call.sent(null)
      }
      scene.clock.advance(HEADERS_TIMEOUT + MARGIN)
      scene.call.uploaded()
      scene.clock.advance(HEADERS_TIMEOUT - 1)
      expect(scene.call.state).toBe('running')
      scene.clock.advance(HEADERS_TIMEOUT + MARGIN)
      expect(scene.call.state).toBe('settled')
    })

    it('fails while it is paused, too', () => {
      const scene = new Scene().to('running')
      scene.call.pause()
      scene.clock.advance(HEADERS_TIMEOUT + MARGIN)
      expect(scene.handler.errors).toEqual([expect.any(HeadersTimeoutError)])
    })
  })

  describe('when the body is late', () => {
    it('fails after bodyTimeout, and resets the stream', () => {
      const scene = new Scene().to('receiving')
      scene.clock.advance(BODY_TIMEOUT - 1)
      expect(scene.call.state).toBe('receiving')
      scene.clock.advance(MARGIN)
      expect(scene.handler.errors).toEqual([expect.any(BodyTimeoutError)])
      expect(scene.handler.errors[0]).toMatchObject({
        message: 'No progress on the response body within bodyTimeout (2000 ms)',
        processed: 'yes',
        attempts: 1,
        streamId: 1,
      })
      expect(scene.attempt.told).toEqual(['cancel'])
    })

    it('counts from the last piece of the body', () => {
      const scene = new Scene().to('receiving')
      for (let i = 0; i < 5; i++) {
        scene.clock.advance(BODY_TIMEOUT - 1)
        scene.data()
      }
      expect(scene.call.state).toBe('receiving')
      scene.clock.advance(BODY_TIMEOUT + MARGIN)
      expect(scene.call.state).toBe('settled')
    })
  })

  describe('when two calls exceed a limit at once', () => {
    it('does not fail the call that the handler of the other one pauses', () => {
      const { clock, owner, call, handler } = new Scene().to('receiving')
      const other = new Call(call.request, new TestHandler(), owner, 1)
      other.start()
      other.begin(new TestAttempt(3))
      other.respond(200, {}, [])
      handler.acts.onResponseError = () => other.pause()
      clock.advance(BODY_TIMEOUT + MARGIN)
      expect(call.state).toBe('settled')
      expect(other.state).toBe('receiving')
    })
  })

  describe('when it is paused', () => {
    it('tells its attempt of each pause and each resume once', () => {
      const { attempt, call } = new Scene().to('receiving')
      call.resume()
      call.pause()
      call.pause()
      expect(call.paused).toBe(true)
      call.resume()
      call.resume()
      expect(call.paused).toBe(false)
      expect(attempt.told).toEqual(['pause', 'resume'])
    })

    // The attempt has to check: it may not have a stream yet when its call begins.
    it('can be paused in onRequestStart, before there is an attempt to tell', () => {
      const scene = new Scene()
      scene.handler.acts.onRequestStart = (controller) => controller.pause()
      scene.to('running')
      expect(scene.call.paused).toBe(true)
      scene.call.resume()
      expect(scene.call.paused).toBe(false)
      expect(scene.attempt.told).toEqual(['resume'])
    })

    it('passes on what was already read', () => {
      const scene = new Scene().to('receiving')
      scene.call.pause()
      scene.data()
      scene.complete()
      expect(scene.handler.heard.slice(2)).toEqual(['onResponseData', 'onResponseEnd'])
    })

    it('does not count the time against bodyTimeout', () => {
      const scene = new Scene().to('receiving')
      scene.call.pause()
      scene.clock.advance(1_000_000)
      scene.data()
      scene.clock.advance(1_000_000)
      expect(scene.call.state).toBe('receiving')
      scene.call.resume()
      scene.clock.advance(BODY_TIMEOUT - 1)
      expect(scene.call.state).toBe('receiving')
      scene.clock.advance(MARGIN)
      expect(scene.handler.errors).toEqual([expect.any(BodyTimeoutError)])
    })

    it('does not count it either when the call was paused before the response', () => {
      const scene = new Scene().to('running')
      scene.call.pause()
      scene.respond()
      scene.clock.advance(1_000_000)
      expect(scene.call.state).toBe('receiving')
      scene.call.resume()
      scene.clock.advance(BODY_TIMEOUT + MARGIN)
      expect(scene.handler.errors).toEqual([expect.any(BodyTimeoutError)])
    })
  })

  describe('when it has settled', () => {
    it('ignores pause and resume', () => {
      const { attempt, call, owner } = new Scene().to('settled')
      call.pause()
      call.resume()
      expect(call.paused).toBe(false)
      expect(attempt.told).toEqual([])
      expect(owner.deadlines.size).toBe(0)
    })

    it('ignores every other event', () => {
      const scene = new Scene().to('settled')
      const heard = [...scene.handler.heard]
      scene.respond()
      scene.data()
      scene.complete(['x-b', '2'])
      scene.call.sent(null)
      scene.call.fail(new Error('It broke'))
      scene.call.abort(new Error('enough'))
      scene.call.attemptFailed(new StreamError('It broke'))
      scene.call.onLate('request')
      scene.call.onLate('continue')
      scene.call.wait()
      scene.call.sent(Buffer.from('abc'))
      scene.call.uploaded()
      expect(scene.handler.heard).toEqual(heard)
      expect(scene.owner.settled).toEqual(['receiving'])
      expect(scene.owner.asked).toEqual([])
      expect(scene.call).toMatchObject({ state: 'settled', reason: null })
      expect(scene.call.controller).toMatchObject({ aborted: false, rawTrailers: [] })
      expect(scene.owner.deadlines.size).toBe(0)
    })
  })

  describe('when it is aborted', () => {
    it.each(['created', 'queued', 'running', 'receiving'] as const)('ends at once: %s', (state) => {
      const scene = new Scene().to(state)
      const reason = new Error('enough')
      scene.call.abort(reason)
      expect(scene.handler.errors).toEqual([reason])
      expect(scene.handler.errors[0]).toBe(reason)
      expect(scene.call.state).toBe('settled')
      expect(scene.call.controller.aborted).toBe(true)
      expect(scene.call.reason).toBe(reason)
      expect(scene.owner.settled).toEqual([state])
      expect(scene.attempt.told).toEqual(state === 'running' || state === 'receiving' ? ['cancel'] : [])
      expect(scene.owner.deadlines.size).toBe(0)
    })

    it('fails with a RequestAbortedError where no reason is given', () => {
      const scene = new Scene().to('running')
      scene.call.abort()
      expect(scene.handler.errors).toEqual([expect.any(RequestAbortedError)])
      expect(scene.handler.errors[0]).toMatchObject({ name: 'AbortError', message: 'Request aborted' })
      expect(scene.call.reason).toBe(scene.handler.errors[0])
    })

    it('resets the stream before the handler is told', () => {
      const scene = new Scene().to('running')
      const told: string[] = []
      scene.handler.acts.onResponseError = () => told.push(...scene.attempt.told)
      scene.call.abort()
      expect(told).toEqual(['cancel'])
    })
  })

  describe('when it is aborted inside a method of its handler', () => {
    const reason = new Error('enough')
    const cases = [
      ['onRequestStart', ['onRequestStart', 'onResponseError'], 'created'],
      ['onResponseStart', ['onRequestStart', 'onResponseStart', 'onResponseError'], 'receiving'],
      [
        'onResponseData',
        ['onRequestStart', 'onResponseStart', 'onResponseData', 'onResponseError'],
        'receiving',
      ],
    ] as const
    it.each(cases)('tells the handler of the error and nothing more: %s', (method, heard, from) => {
      const scene = new Scene()
      scene.handler.acts[method] = (controller) => controller.abort(reason)
      if (scene.call.start()) {
        scene.call.begin(scene.attempt)
        scene.respond()
        scene.data()
        scene.complete()
      }
      expect(scene.handler.heard).toEqual(heard)
      expect(scene.handler.errors).toEqual([reason])
      expect(scene.owner.settled).toEqual([from])
      expect(scene.attempt.told).toEqual(method === 'onRequestStart' ? [] : ['cancel'])
      expect(scene.call.state).toBe('settled')
      expect(scene.call.controller).toMatchObject({ aborted: true, reason })
      expect(scene.owner.deadlines.size).toBe(0)
    })

    it('does not start after an abort in onRequestStart', () => {
      const scene = new Scene()
      scene.handler.acts.onRequestStart = (controller) => controller.abort(reason)
      expect(scene.call.start()).toBe(false)
    })

    it('fails during an informational response', () => {
      const scene = new Scene().to('running')
      scene.handler.acts.onResponseStart = (controller) => controller.abort(reason)
      scene.respond(103)
      scene.respond(200)
      expect(scene.handler.statuses).toEqual([103])
      expect(scene.handler.errors).toEqual([reason])
      expect(scene.owner.settled).toEqual(['running'])
    })

    it('ignores an abort in onResponseEnd', () => {
      const scene = new Scene().to('receiving')
      scene.handler.acts.onResponseEnd = (controller) => controller.abort(reason)
      scene.complete()
      expect(scene.handler.heard).toEqual(['onRequestStart', 'onResponseStart', 'onResponseEnd'])
      expect(scene.call.controller).toMatchObject({ aborted: false, reason: null })
    })

    it('ignores an abort in onResponseError', () => {
      const scene = new Scene().to('receiving')
      scene.handler.acts.onResponseError = (controller) => controller.abort(reason)
      const error = new Error('It broke')
      scene.call.fail(error)
      expect(scene.handler.errors).toEqual([error])
      expect(scene.attempt.told).toEqual(['cancel'])
      expect(scene.owner.settled).toEqual(['receiving'])
    })
  })

  describe('when it fails', () => {
    it.each([
      'created',
      'queued',
      'running',
      'receiving',
    ] as const)('passes the same error object to its handler: %s', (state) => {
      const scene = new Scene().to(state)
      const error = new Error('It broke')
      scene.call.fail(error)
      expect(scene.handler.errors).toHaveLength(1)
      expect(scene.handler.errors[0]).toBe(error)
      expect(scene.owner.settled).toEqual([state])
      expect(scene.owner.deadlines.size).toBe(0)
    })

    // undici's retry handler passes an aborted call's error on, and tries a failed one again.
    it('does not count as aborted', () => {
      const scene = new Scene().to('running')
      scene.call.fail(new Error('It broke'))
      expect(scene.call.controller.aborted).toBe(false)
      expect(scene.call.reason).toBeNull()
    })

    it.each([
      'created',
      'queued',
      'running',
      'receiving',
    ] as const)('destroys a body that no attempt will read: %s', (state) => {
      const body = new Readable({ read() {} })
      const scene = new Scene({ method: 'POST', body }).to(state)
      const error = new Error('It broke')
      scene.call.fail(error)
      expect(body.errored).toBe(error)
    })
  })

  describe('when it fails with an error of this library', () => {
    it.each([
      ['queued', 'no', 'no', 0, null],
      ['queued', 'maybe', 'maybe', 0, null],
      ['running', 'no', 'maybe', 1, 1],
      ['running', 'maybe', 'maybe', 1, 1],
      ['running', 'yes', 'yes', 1, 1],
      ['receiving', 'no', 'yes', 1, 1],
    ] as const)("sets the call's details on the error: %s, processed %s → %s", (state, given, processed, attempts, streamId) => {
      const scene = new Scene().to(state)
      const error = new DodiciError('It broke', { processed: given })
      scene.call.fail(error)
      expect(scene.handler.errors[0]).toBe(error)
      expect(error).toMatchObject({ processed, attempts, streamId })
    })

    it('has no stream id when the stream never got one', () => {
      const { call } = new Scene().to('queued')
      const error = new DodiciError('It broke')
      call.begin(new TestAttempt(null))
      call.fail(error)
      expect(error).toMatchObject({ attempts: 1, streamId: null })
    })

    it('sets them on the error of an abort without a reason, too', () => {
      const scene = new Scene().to('receiving')
      scene.call.abort()
      expect(scene.handler.errors[0]).toMatchObject({ processed: 'yes', attempts: 1, streamId: 1 })
    })
  })

  describe('when its attempt fails and may not be replayed', () => {
    it('doesn’t ask its owner when a part of the response has come', () => {
      const scene = new Scene().to('receiving')
      scene.owner.replays = true
      scene.call.attemptFailed(new StreamError('It broke'))
      expect(scene.owner.asked).toEqual([])
      expect(scene.owner.replayed).toEqual([])
      expect(scene.call.state).toBe('settled')
    })
  })

  describe('when its attempt fails and may be replayed', () => {
    function toReplayed(options: Partial<DispatchOptions> = {}): Scene {
      const scene = new Scene(options).to('running')
      scene.owner.replays = true
      scene.call.attemptFailed(new StreamError('Refused'))
      return scene
    }

    it('is queued again, and then tells its owner', () => {
      const { call, handler, owner } = toReplayed()
      expect(call.state).toBe('queued')
      expect(owner.asked).toEqual([expect.any(StreamError)])
      expect(owner.replayed).toEqual(['queued'])
      expect(owner.settled).toEqual([])
      expect(handler.heard).toEqual(['onRequestStart'])
    })

    it('has no headersTimeout in the queue, and a new one on the next stream', () => {
      const scene = toReplayed({ queueTimeout: 0 })
      scene.clock.advance(1_000_000)
      expect(scene.call.state).toBe('queued')
      scene.call.begin(new TestAttempt(3))
      scene.clock.advance(HEADERS_TIMEOUT - 1)
      expect(scene.call.state).toBe('running')
      scene.clock.advance(MARGIN)
      expect(scene.handler.errors).toEqual([expect.any(HeadersTimeoutError)])
    })

    it('counts its attempts, and names the last stream', () => {
      const scene = toReplayed()
      scene.call.begin(new TestAttempt(3))
      scene.call.attemptFailed(new StreamError('Refused'))
      const last = new TestAttempt(5)
      scene.call.begin(last)
      scene.owner.replays = false
      scene.call.attemptFailed(new StreamError('It broke'))
      expect(scene.handler.errors[0]).toMatchObject({ message: 'It broke', attempts: 3, streamId: 5 })
      expect(scene.attempt.told).toEqual([])
      expect(last.told).toEqual([])
    })

    it('names the last stream when it fails in the queue', () => {
      const scene = toReplayed()
      scene.call.fail(new DodiciError('It broke'))
      expect(scene.handler.errors[0]).toMatchObject({ attempts: 1, streamId: 1, processed: 'no' })
      expect(scene.owner.settled).toEqual(['queued'])
      expect(scene.attempt.told).toEqual([])
    })

    it('stays paused', () => {
      const scene = new Scene().to('running')
      scene.owner.replays = true
      scene.call.pause()
      scene.call.attemptFailed(new StreamError('Refused'))
      const next = new TestAttempt(3)
      scene.call.begin(next)
      expect(scene.call.paused).toBe(true)
      scene.call.resume()
      expect(next.told).toEqual(['resume'])
      expect(scene.attempt.told).toEqual(['pause'])
    })
  })

  describe('when a method of its handler throws', () => {
    const thrown = new Error('The handler is broken')
    function raise(): never {
      throw thrown
    }

    it('does not start, and fails with the same error, when it is onRequestStart', () => {
      const scene = new Scene()
      scene.handler.acts.onRequestStart = raise
      expect(scene.call.start()).toBe(false)
      expect(scene.call.state).toBe('settled')
      expect(scene.handler.heard).toEqual(['onRequestStart', 'onResponseError'])
      expect(scene.handler.errors[0]).toBe(thrown)
      expect(scene.owner.settled).toHaveLength(1)
      expect(scene.owner.deadlines.size).toBe(0)
    })

    it('keeps the reason of an abort that came first', () => {
      const scene = new Scene().to('running')
      const reason = new Error('enough')
      scene.handler.acts.onResponseStart = (controller) => {
        controller.abort(reason)
        raise()
      }
      scene.respond()
      expect(scene.handler.errors).toEqual([reason])
    })

    it.each([
      ['a string', 'oops'],
      ['undefined', undefined],
      ['an object without a prototype', Object.create(null)],
    ])('fails with an Error for any value thrown: %s', (_kind, value) => {
      const scene = new Scene().to('running')
      scene.handler.acts.onResponseStart = () => {
        throw value
      }
      scene.respond()
      expect(scene.call.state).toBe('settled')
      expect(scene.handler.errors).toEqual([expect.any(DodiciError)])
    })
  })

  describe('when onResponseError throws', () => {
    const thrown = new Error('The handler is broken')
    function raise(): never {
      throw thrown
    }

    it.each([
      ['after a failure', (scene: Scene) => scene.call.fail(new Error('It broke'))],
      ['after an abort', (scene: Scene) => scene.call.abort()],
      ['after onResponseEnd has thrown', (scene: Scene) => scene.complete()],
      ['after onResponseData has thrown', (scene: Scene) => scene.data()],
    ])('raises an uncaught exception, which does not reach the code that reported the error: %s', async (_when, end) => {
      const scene = new Scene().to('receiving')
      scene.handler.acts = {
        onResponseError: raise,
        onResponseEnd: () => {
          throw new Error('first')
        },
        onResponseData: () => {
          throw new Error('first')
        },
      }
      end(scene)
      expect(scene.call.state).toBe('settled')
      expect(scene.owner.settled).toEqual(['receiving'])
      expect(scene.handler.errors).toHaveLength(1)
      expect(uncaught).toEqual([])
      await setImmediate()
      expect(uncaught).toEqual([thrown])
      uncaught.length = 0
    })
  })

  describe('when rawHeaders is read', () => {
    it('gives those of the final response after an informational one', () => {
      const scene = new Scene().to('running')
      scene.respond(103, [':status', '103', 'link', '</a>'])
      expect(scene.call.controller.rawHeaders).toEqual(['link', '</a>'])
      scene.respond(200, [':status', '200', 'x-a', '1'])
      expect(scene.call.controller.rawHeaders).toEqual(['x-a', '1'])
    })

    it('has them already in onResponseStart', () => {
      const scene = new Scene().to('running')
      let raw: string[] | null = null
      scene.handler.acts.onResponseStart = (controller) => {
        raw = controller.rawHeaders
      }
      scene.respond()
      expect(raw).toEqual(['x-a', '1'])
    })

    it('has the trailers in onResponseEnd, and not before', () => {
      const scene = new Scene().to('receiving')
      let raw: string[] | null = null
      scene.handler.acts.onResponseEnd = (controller) => {
        raw = controller.rawTrailers
      }
      expect(scene.call.controller.rawTrailers).toBeNull()
      scene.complete(['x-checksum', 'abc'])
      expect(raw).toEqual(['x-checksum', 'abc'])
      expect(scene.call.controller.rawTrailers).toBe(raw)
    })
  })
})

describe('a call with several events that can end it', () => {
  /**
   * How the call ended: whether the handler heard of the end, the message of the error that it heard, and how often the
   * stream was reset.
   */
  interface Outcome {
    readonly end: boolean
    readonly error: string | null
    readonly cancels: number
  }

  /** An event and its effect: the call goes on to `receiving`, ends, or stays as it is (null). */
  interface Happening {
    readonly name: string
    run(scene: Scene): void
    toEffect(state: 'running' | 'receiving'): 'receiving' | Outcome | null
  }

  /** Makes one method of the handler throw during `run`. */
  function throwing(method: Method, run: (scene: Scene) => void): (scene: Scene) => void {
    return (scene) => {
      scene.handler.acts[method] = () => {
        throw new Error(`thrown in ${method}`)
      }
      run(scene)
      scene.handler.acts = {}
    }
  }

  const failedBy = (error: string, cancels: number): Outcome => ({ end: false, error, cancels })

  const happenings: Happening[] = [
    {
      name: 'an informational response',
      run: (scene) => scene.respond(103),
      toEffect: () => null,
    },
    {
      name: 'the response',
      run: (scene) => scene.respond(),
      toEffect: (state) => (state === 'running' ? 'receiving' : null),
    },
    {
      name: 'a response that onResponseStart throws at',
      run: throwing('onResponseStart', (scene) => scene.respond()),
      toEffect: (state) => (state === 'running' ? failedBy('thrown in onResponseStart', 1) : null),
    },
    {
      name: 'data',
      run: (scene) => scene.data(),
      toEffect: () => null,
    },
    {
      name: 'data that onResponseData throws at',
      run: throwing('onResponseData', (scene) => scene.data()),
      toEffect: (state) => (state === 'receiving' ? failedBy('thrown in onResponseData', 1) : null),
    },
    {
      name: 'the end',
      run: (scene) => scene.complete(),
      toEffect: (state) => (state === 'receiving' ? { end: true, error: null, cancels: 0 } : null),
    },
    {
      name: 'an end that onResponseEnd throws at',
      run: throwing('onResponseEnd', (scene) => scene.complete()),
      toEffect: (state) =>
        state === 'receiving' ? { end: true, error: 'thrown in onResponseEnd', cancels: 0 } : null,
    },
    {
      name: 'a failure',
      run: (scene) => scene.call.fail(new DodiciError('failed')),
      toEffect: () => failedBy('failed', 1),
    },
    {
      name: 'an abort',
      run: (scene) => scene.call.abort(new Error('aborted')),
      toEffect: () => failedBy('aborted', 1),
    },
    {
      name: 'a failed attempt',
      run: (scene) => scene.call.attemptFailed(new StreamError('attempt failed')),
      toEffect: () => failedBy('attempt failed', 0),
    },
    {
      name: 'a deadline',
      run: (scene) => scene.clock.advance(HEADERS_TIMEOUT + BODY_TIMEOUT),
      toEffect: (state) =>
        failedBy(
          state === 'running'
            ? 'No response within headersTimeout (1000 ms)'
            : 'No progress on the response body within bodyTimeout (2000 ms)',
          1,
        ),
    },
    {
      name: 'a pause',
      run: (scene) => {
        scene.call.pause()
        scene.call.resume()
      },
      toEffect: () => null,
    },
  ]

  /** Ends the calls that no event of a permutation has ended. */
  const last: Happening = {
    name: 'the last failure',
    run: (scene) => scene.call.fail(new Error('the last')),
    toEffect: () => failedBy('the last', 1),
  }

  /** The first event that can end a call ends it. */
  function toOutcome(start: 'running' | 'receiving', order: readonly Happening[]): Outcome {
    let state = start
    for (const happening of order) {
      const effect = happening.toEffect(state)
      if (effect === 'receiving') state = effect
      else if (effect !== null) return effect
    }
    throw new Error('Nothing ended the call')
  }

  function check(start: 'running' | 'receiving', order: readonly Happening[]): void {
    const scene = new Scene().to(start)
    const { handler, owner, attempt, call } = scene
    let heardAtEnd = -1
    for (const happening of order) {
      happening.run(scene)
      if (call.state === 'settled' && heardAtEnd === -1) heardAtEnd = handler.heard.length
    }
    const label = `${start}: ${order.map(({ name }) => name).join(', ')}`
    const expected = toOutcome(start, order)
    const outcome: Outcome = {
      end: handler.heard.includes('onResponseEnd'),
      error: handler.errors[0]?.message ?? null,
      cancels: attempt.told.filter((told) => told === 'cancel').length,
    }
    expect(outcome, label).toEqual(expected)
    // Exactly one end, and no event after it.
    expect(handler.heard.filter((method) => method === 'onResponseEnd').length, label).toBe(
      expected.end ? 1 : 0,
    )
    expect(handler.errors.length, label).toBe(expected.error === null ? 0 : 1)
    expect(handler.heard.length, label).toBe(heardAtEnd)
    expect(handler.heard.filter((method) => method === 'onRequestStart').length, label).toBe(1)
    expect(owner.settled.length, label).toBe(1)
    expect(owner.deadlines.size, label).toBe(0)
    expect(owner.replayed, label).toEqual([])
    expect(call.state, label).toBe('settled')
  }

  describe.each(['running', 'receiving'] as const)('when it is %s', (start) => {
    it.each(happenings)('ends once, by the first such event: $name and any two others', (first) => {
      expect.hasAssertions()
      for (const second of happenings) {
        for (const third of happenings) {
          if (second !== first && third !== first && third !== second)
            check(start, [first, second, third, last])
        }
      }
    })
  })
})
