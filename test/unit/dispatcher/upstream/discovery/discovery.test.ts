import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { Discovery } from '../../../../../src/dispatcher/upstream/discovery/discovery.ts'
import { toAnswer } from '../../../../../src/dispatcher/upstream/upstream-options.ts'
import type { UpstreamResolverContext, UpstreamSource } from '../../../../../types/index.ts'
import { FakeClock } from '../../../../support/clocks/fake-clock.ts'

const A = ['http://a.example']
const B = ['http://b.example']

/** One source, in virtual time. */
class Scene {
  readonly clock = new FakeClock()
  /** What was told, with the seconds since the beginning. */
  readonly told: string[] = []
  /** When the source was asked. Seconds. */
  readonly asked: number[] = []
  readonly contexts: UpstreamResolverContext[] = []
  readonly discovery: Discovery
  answer: () => unknown = () => A
  random = 0
  /** A listener for failures. */
  onTold: () => void = () => {}
  readonly #beganAt = this.clock.now()

  constructor(source?: UpstreamSource) {
    const resolver = (context: UpstreamResolverContext) => {
      this.asked.push(this.seconds)
      this.contexts.push(context)
      return this.answer() as never
    }
    this.discovery = new Discovery(
      source ?? resolver,
      { lookup: null, family: 0 },
      this.clock,
      () => this.random,
      {
        check: (answer) => toAnswer(answer, {}),
        onAnswer: ({ upstreams }) => this.told.push(`${upstreams?.map(({ name }) => name)}`),
        onError: (_discovery, { message }, isFinal) => {
          this.told.push(`${isFinal ? 'error' : 'report'}: ${message}`)
          this.onTold()
        },
      },
    )
  }

  get seconds(): number {
    return (this.clock.now() - this.#beganAt) / 1_000
  }

  /** Moves on by steps, and lets promises settle after each. */
  async pass(seconds: number, step = 0.5): Promise<void> {
    await turn()
    for (let passed = 0; passed < seconds; passed += step) {
      this.clock.advance(step * 1_000)
      await turn()
    }
  }

  async start(): Promise<this> {
    this.discovery.start()
    await turn()
    return this
  }
}

function fail(code: string): () => Promise<never> {
  return () => Promise.reject(Object.assign(new Error(`no: ${code}`), { code }))
}

describe('Discovery of a function', () => {
  it('asks at once, and again every 30 seconds', async () => {
    const scene = await new Scene().start()
    await scene.pass(95)
    expect(scene.asked).toEqual([0, 30, 60, 90])
    expect(scene.told).toEqual(Array(4).fill('http://a.example'))
  })

  it.each([
    [60_000, [0, 60]],
    [10_000, [0, 10, 20, 30, 40, 50, 60]],
    [5_000, [0, 5, 10, 15, 20, 25, 30, 35, 40, 45, 50, 55, 60]],
    [1, [0, 5, 10, 15, 20, 25, 30, 35, 40, 45, 50, 55, 60]],
    [0, [0, 5, 10, 15, 20, 25, 30, 35, 40, 45, 50, 55, 60]],
  ])('asks again when a ttl of %d ms is over, and no sooner than after 5 seconds', async (ttl, asked) => {
    const scene = new Scene()
    scene.answer = () => ({ upstreams: A, ttl })
    await scene.start()
    await scene.pass(61)
    expect(scene.asked).toEqual(asked)
  })

  it('asks within the last tenth of the interval, at random', async () => {
    const scene = new Scene()
    scene.random = 0.5
    await scene.start()
    await scene.pass(58)
    expect(scene.asked).toEqual([0, 28.5, 57])
  })

  it('asks no sooner than after 5 seconds, whatever the jitter', async () => {
    const scene = new Scene()
    scene.random = 0.999
    scene.answer = () => ({ upstreams: A, ttl: 5_000 })
    await scene.start()
    await scene.pass(11)
    expect(scene.asked).toEqual([0, 5, 10])
  })

  it('takes a promise of an async iterable', async () => {
    const scene = new Scene()
    scene.answer = async () =>
      (async function* () {
        yield A
        yield B
      })()
    await scene.start()
    expect(scene.told.slice(0, 2)).toEqual(['http://a.example', 'http://b.example'])
  })

  it('asks at once, within half a second, when something has failed; once in 5 seconds', async () => {
    const scene = new Scene()
    scene.random = 0.999
    await scene.start()
    await scene.pass(10)
    for (let count = 0; count < 100; count++) scene.discovery.refresh()
    await scene.pass(1)
    expect(scene.asked).toEqual([0, 10.5])
    for (let count = 0; count < 100; count++) {
      scene.discovery.refresh()
      await scene.pass(0.5)
    }
    // 50 seconds of failures.
    expect(scene.asked.slice(2).map((at, index) => at - (scene.asked[index + 1] ?? 0))).toEqual(
      Array(scene.asked.length - 2).fill(5.5),
    )
    expect(scene.asked.length).toBe(11)
  })

  it('asks again when something fails while the answer is on its way', async () => {
    const scene = new Scene()
    const answers: ((value: unknown) => void)[] = []
    scene.answer = () => new Promise((resolve) => answers.push(resolve))
    await scene.start()
    scene.discovery.refresh()
    answers[0]?.(A)
    await scene.pass(6)
    expect(scene.asked).toEqual([0, 5])
  })

  it('after failures asks later each time, and keeps the former answer', async () => {
    const scene = await new Scene().start()
    scene.answer = fail('ESERVFAIL')
    await scene.pass(140)
    expect(scene.asked).toEqual([0, 30, 35, 45, 65, 95, 125])
    expect(new Set(scene.told)).toEqual(new Set(['http://a.example', 'error: no: ESERVFAIL']))
    expect(scene.discovery.upstreams?.map(({ name }) => name)).toEqual(A)
    scene.answer = () => B
    await scene.pass(20)
    expect(scene.told.at(-1)).toBe('http://b.example')
    expect(scene.discovery.error).toBeNull()
    await scene.pass(30)
    expect(scene.asked.at(-1)).toBe(185)
  })

  it('after a failure asks 5 seconds later at the soonest, when a request waits for it', async () => {
    const scene = new Scene()
    scene.answer = fail('ENOTFOUND')
    await scene.start()
    await scene.pass(16)
    expect(scene.asked).toEqual([0, 5, 15])
    scene.discovery.refresh()
    await scene.pass(5)
    expect(scene.asked).toEqual([0, 5, 15, 20])
  })

  it('takes one that doesn’t answer in 30 seconds for failed, and aborts its signal', async () => {
    const scene = new Scene()
    const answers: ((value: unknown) => void)[] = []
    scene.answer = () => new Promise((resolve) => answers.push(resolve))
    await scene.start()
    await scene.pass(29.5)
    expect(scene.told).toEqual([])
    expect(scene.contexts[0]?.signal.aborted).toBe(false)
    await scene.pass(0.5)
    expect(scene.told).toEqual(['error: No answer came within 30 seconds'])
    expect(scene.contexts[0]?.signal.aborted).toBe(true)
    await scene.pass(5)
    answers[0]?.(A)
    answers[1]?.(B)
    await turn()
    expect(scene.told).toEqual(['error: No answer came within 30 seconds', 'http://b.example'])
  })

  it('is told of failures beside the answer, and not after it', async () => {
    const scene = new Scene()
    scene.answer = () => {
      scene.contexts[0]?.report(new Error('half'))
      return A
    }
    await scene.start()
    scene.contexts[0]?.report(new Error('late'))
    expect(scene.told).toEqual(['report: half', 'http://a.example'])
  })

  it.each([
    [
      'throws',
      () => {
        throw new Error('thrown')
      },
      'thrown',
    ],
    [
      'throws no error',
      () => {
        throw 'text'
      },
      'A value that is not an Error was thrown: text',
    ],
    ['rejects', () => Promise.reject(new Error('rejected')), 'rejected'],
    ['gives no upstreams', () => [], 'The answer has no upstreams'],
    ['gives no upstreams, with a ttl', () => ({ upstreams: [], ttl: 1 }), 'The answer has no upstreams'],
    [
      'gives nothing',
      () => undefined,
      'Invalid resolver answer: got undefined, expected a list of upstreams, or an object with upstreams and ttl',
    ],
    [
      'gives a string',
      () => 'http://a.example',
      'Invalid resolver answer: got a string, expected a list of upstreams, or an object with upstreams and ttl',
    ],
    [
      'gives an object without upstreams',
      () => ({}),
      'Invalid upstreams in the resolver answer: got undefined, expected a list of upstreams',
    ],
    [
      'gives rubbish in the list',
      () => [7],
      'upstreams[0]: Invalid upstream: got 7, expected an origin, or an object with an origin',
    ],
    [
      'gives a name without a scheme',
      () => ['a.example'],
      'upstreams[0]: Invalid origin: got "a.example", expected an http: or https: URL without path, query, fragment or credentials',
    ],
    [
      'gives a bad address',
      () => [{ origin: 'http://a.example', address: 'b.example' }],
      'upstreams[0]: Invalid address: got "b.example", expected an IP address, with or without a port, or null',
    ],
    [
      'gives a bad weight',
      () => [{ origin: 'http://a.example', weight: 0 }],
      'upstreams[0]: Invalid weight: got 0, expected a number above 0, up to 1000000',
    ],
    [
      'gives a bad priority',
      () => [{ origin: 'http://a.example', priority: -1 }],
      'upstreams[0]: Invalid priority: got -1, expected a whole number of a priority from 0 to 65535',
    ],
    [
      'gives a bad ttl',
      () => ({ upstreams: A, ttl: '30' }),
      'Invalid ttl: got "30", expected a whole number of milliseconds from 0 to 2147483647',
    ],
    [
      'gives a bad option',
      () => [{ origin: 'http://a.example', connections: 'x' }],
      'upstreams[0]: Invalid connections: got "x", expected a whole number of sessions (or null for no limit) from 1 to 4294967295',
    ],
  ])('that %s: keeps the former upstreams, tells why, and asks again', async (_title, answer, message) => {
    const scene = await new Scene().start()
    scene.answer = answer
    await scene.pass(36)
    expect(scene.told).toEqual(['http://a.example', `error: ${message}`, `error: ${message}`])
    expect(scene.discovery.upstreams?.map(({ name }) => name)).toEqual(A)
  })

  it.each<[string, unknown, string]>([
    ['rubbish', 7, 'Invalid upstream: got 7, expected an origin, or an object with an origin'],
    [
      'a bad address',
      { origin: 'http://a.example', address: '10.0.0.300' },
      'Invalid address: got "10.0.0.300", expected an IP address, with or without a port, or null',
    ],
    [
      'a bad option',
      { origin: 'http://a.example', connections: 0 },
      'Invalid connections: got 0, expected a whole number of sessions (or null for no limit) from 1 to 4294967295',
    ],
  ])('that gives %s beside good ones: uses these, and tells of the bad entry', async (_title, bad, message) => {
    const scene = await new Scene().start()
    scene.answer = () => ({ upstreams: [...B, bad, 'http://c.example'], ttl: 60_000 })
    await scene.pass(31)
    expect(scene.told).toEqual([
      'http://a.example',
      `report: upstreams[1]: ${message}`,
      'http://b.example,http://c.example',
    ])
    // It is no failure: the ttl of the answer holds.
    expect([scene.discovery.error, scene.asked]).toEqual([null, [0, 30]])
    await scene.pass(60)
    expect(scene.asked).toEqual([0, 30, 90])
  })

  it('that gives bad entries, and is stopped by the first one told, is over', async () => {
    const scene = new Scene()
    scene.answer = () => [7, 8, ...A]
    scene.onTold = () => scene.discovery.stop()
    await scene.start()
    expect(scene.told).toEqual([
      'report: upstreams[0]: Invalid upstream: got 7, expected an origin, or an object with an origin',
    ])
    expect([scene.discovery.upstreams, scene.clock.alarms]).toEqual([null, 0])
  })

  it('is stopped: asks no more, aborts what runs, and sets no alarm', async () => {
    const scene = new Scene()
    let resolve: (value: unknown) => void = () => {}
    scene.answer = () =>
      new Promise((settle) => {
        resolve = settle
      })
    await scene.start()
    scene.discovery.stop()
    scene.discovery.stop()
    expect(scene.contexts[0]?.signal.aborted).toBe(true)
    resolve(A)
    scene.discovery.refresh()
    await scene.pass(60)
    expect([scene.told, scene.asked, scene.clock.alarms]).toEqual([[], [0], 0])
  })
})

describe('Discovery of an async iterable', () => {
  /** An iterable that gives what the test pushes. */
  class Feed implements AsyncIterableIterator<never> {
    readonly #results: Promise<IteratorResult<never>>[] = []
    #wake: (() => void) | null = null
    returned = 0

    push(value: unknown): void {
      this.#add(Promise.resolve({ value: value as never, done: false }))
    }

    end(): void {
      this.#add(Promise.resolve({ value: undefined, done: true }))
    }

    fail(error: unknown): void {
      const failed = Promise.reject(error)
      failed.catch(() => {})
      this.#add(failed)
    }

    async next(): Promise<IteratorResult<never>> {
      if (this.#results.length === 0)
        await new Promise<void>((resolve) => {
          this.#wake = resolve
        })
      return this.#results.shift() ?? { value: undefined, done: true }
    }

    return(): Promise<IteratorResult<never>> {
      this.returned++
      return Promise.resolve({ value: undefined, done: true })
    }

    [Symbol.asyncIterator](): this {
      return this
    }

    #add(result: Promise<IteratorResult<never>>): void {
      this.#results.push(result)
      this.#wake?.()
    }
  }

  it('takes each set as it comes, and asks for nothing by time or by failures', async () => {
    const feed = new Feed()
    const scene = await new Scene(feed).start()
    feed.push(A)
    await turn()
    feed.push({ upstreams: B, ttl: 1 })
    scene.discovery.refresh()
    await scene.pass(120)
    expect(scene.told).toEqual(['http://a.example', 'http://b.example'])
    expect(scene.clock.alarms).toBe(0)
  })

  it('goes on after rubbish and after an empty set, with the former upstreams', async () => {
    const feed = new Feed()
    const scene = await new Scene(feed).start()
    for (const value of [A, [7], [], B]) feed.push(value)
    await scene.pass(1)
    expect(scene.told).toEqual([
      'http://a.example',
      'error: upstreams[0]: Invalid upstream: got 7, expected an origin, or an object with an origin',
      'error: The answer has no upstreams',
      'http://b.example',
    ])
  })

  it.each(['end', 'fail'] as const)('that %ss: is over, with the last upstreams', async (how) => {
    const feed = new Feed()
    const scene = await new Scene(feed).start()
    feed.push(A)
    await turn()
    if (how === 'end') feed.end()
    else feed.fail(new Error('gone'))
    await scene.pass(60)
    expect(scene.told.slice(1)).toEqual([`error: ${how === 'end' ? 'The async iterable has ended' : 'gone'}`])
    expect(scene.discovery.isOver).toBe(true)
    expect(scene.discovery.upstreams).toHaveLength(1)
  })

  it('of a function: is asked for again when it ends or fails', async () => {
    const scene = new Scene()
    const feeds: Feed[] = []
    scene.answer = () => {
      const feed = new Feed()
      feeds.push(feed)
      return feed
    }
    await scene.start()
    feeds[0]?.push(A)
    await turn()
    feeds[0]?.fail(new Error('gone'))
    await scene.pass(5)
    feeds[1]?.push(B)
    await turn()
    feeds[1]?.end()
    await scene.pass(5)
    expect(scene.asked).toEqual([0, 5, 10])
    expect(scene.told).toEqual([
      'http://a.example',
      'error: gone',
      'http://b.example',
      'error: The async iterable has ended',
    ])
  })

  it('is stopped: its iterator is returned, and what it gives later is dropped', async () => {
    const feed = new Feed()
    const scene = await new Scene(feed).start()
    scene.discovery.stop()
    feed.push(A)
    await turn()
    expect([feed.returned, scene.told]).toEqual([1, []])
  })

  it.each([
    [
      'return() throws',
      {
        next: () => new Promise(() => {}),
        return: () => {
          throw new Error('no')
        },
      },
    ],
    [
      'return() rejects',
      { next: () => new Promise(() => {}), return: () => Promise.reject(new Error('no')) },
    ],
    ['there is no return()', { next: () => new Promise(() => {}) }],
  ])('is stopped when %s', async (_title, iterator) => {
    const scene = await new Scene({ [Symbol.asyncIterator]: () => iterator as never }).start()
    scene.discovery.stop()
    await turn()
    expect(scene.told).toEqual([])
  })

  it('whose iterator can’t be made: is over', async () => {
    const source = {
      [Symbol.asyncIterator]: () => {
        throw new Error('no iterator')
      },
    }
    const scene = await new Scene(source).start()
    expect(scene.told).toEqual(['error: no iterator'])
    expect(scene.discovery.isOver).toBe(true)
  })
})
