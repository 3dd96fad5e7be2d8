import { setImmediate as nextTurn } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { loadModule } from '../../support/clients/plain-module.ts'

type Done = (error: Error | null, status: number, bytes: number) => void

type Start = (target: string, done: Done) => void

interface Shape {
  readonly targets: readonly string[]
  readonly inFlight: number
  readonly pattern: 'steady' | 'rounds'
  readonly responseBytes: number
}

interface LoadModule {
  readonly Load: new (start: Start, shape: Shape) => { run(count: number): Promise<Float64Array> }
  percentile(values: Float64Array, share: number): number
}

interface HeapMeterModule {
  readonly HeapMeter: new () => { start(): void; stop(): { bytes: number; collections: number } }
}

const { Load, percentile } = await loadModule<LoadModule>('bench/e2e/load.mjs')
const { HeapMeter } = await loadModule<HeapMeterModule>('bench/e2e/heap-meter.mjs')

/** A client that responds to the oldest request whenever it is told to. */
class SlowClient {
  readonly targets: string[] = []
  /** How many were in flight once each was started. */
  readonly inFlight: number[] = []
  readonly #waiting: Done[] = []

  readonly start: Start = (target, done) => {
    this.#waiting.push(done)
    this.targets.push(target)
    this.inFlight.push(this.#waiting.length)
  }

  respondWith(error: Error | null = null, status = 200, bytes = 10): void {
    this.#waiting.shift()?.(error, status, bytes)
  }

  /** Responds to one after the other, until nothing is in flight and nothing new comes. */
  async respondToAll(): Promise<void> {
    while (this.#waiting.length > 0) {
      this.respondWith()
      await nextTurn()
    }
  }
}

/** The load of one pattern on such a client: 7 requests, 3 of them in flight. */
function start(pattern: 'steady' | 'rounds', targets = ['a']) {
  const client = new SlowClient()
  const load = new Load(client.start, { targets, inFlight: 3, pattern, responseBytes: 10 })
  return { client, load, run: load.run(7) }
}

describe('a steady load', () => {
  it('starts the next request with each response, so that as many are in flight until no more are to come', async () => {
    const { client, run } = start('steady')
    await client.respondToAll()
    expect((await run).length).toBe(7)
    expect(client.inFlight).toEqual([1, 2, 3, 3, 3, 3, 3])
  })

  it('goes round the targets', async () => {
    const { client, run } = start('steady', ['a', 'b'])
    await client.respondToAll()
    await run
    expect(client.targets.join('')).toBe('abababa')
  })

  it('can be run again, and then gives the times of that run alone', async () => {
    const { client, load, run } = start('steady')
    await client.respondToAll()
    await run
    const again = load.run(2)
    await client.respondToAll()
    expect((await again).length).toBe(2)
    expect(client.targets.length).toBe(9)
  })
})

describe('a load in rounds', () => {
  it('starts all of a round at once, and the next round once every one of them has its response', async () => {
    const { client, run } = start('rounds')
    await client.respondToAll()
    expect((await run).length).toBe(7)
    expect(client.inFlight).toEqual([1, 2, 3, 1, 2, 3, 1])
  })
})

describe('a load that gets a wrong response', () => {
  it.each([
    { what: 'an error', error: new Error('broken'), status: 0, bytes: 0, message: 'broken' },
    {
      what: 'another status',
      error: null,
      status: 404,
      bytes: 10,
      message: 'a wrong response: status 404, 10 bytes',
    },
    { what: 'another length', error: null, status: 200, bytes: 9, message: '9 bytes instead of 10' },
  ])('fails, and starts nothing more, when it is $what', async ({ error, status, bytes, message }) => {
    const { client, run } = start('steady')
    client.respondWith()
    client.respondWith(error, status, bytes)
    await expect(run).rejects.toThrow(message)
    await client.respondToAll()
    expect(client.targets.length).toBe(4)
  })
})

describe('the times of a load', () => {
  it('are from the start of each request to its response, in milliseconds', async () => {
    const begun = performance.now()
    const { client, run } = start('steady')
    await client.respondToAll()
    const times = await run
    const all = performance.now() - begun
    expect(times.every((time) => time > 0 && time <= all)).toBe(true)
  })
})

describe('a percentile', () => {
  it('is the value that so many of all, rounded up, do not exceed', () => {
    const hundred = Float64Array.from({ length: 100 }, (_, index) => 100 - index)
    expect([0.5, 0.99, 1].map((share) => percentile(hundred, share))).toEqual([50, 99, 100])
    const three = Float64Array.of(10, 9, 100)
    expect([0.5, 0.99].map((share) => percentile(three, share))).toEqual([10, 100])
  })
})

describe('the meter of what is allocated on the heap', () => {
  /** V8's: an array of 98 numbers is 98 slots of 8 bytes, a head of 16 for them, and 32 for the array itself. */
  const ARRAY_BYTES = 98 * 8 + 16 + 32
  const COUNT = 100_000

  it.each([
    { what: 'all of it is garbage', keep: COUNT + 1 },
    { what: 'some of it stays', keep: 10 },
  ])('is right within 3 % for a known amount when $what, over many collections', ({ keep }) => {
    const kept: number[][] = []
    const meter = new HeapMeter()
    meter.start()
    for (let index = 1; index <= COUNT; index++) {
      const array = new Array<number>(98).fill(index)
      if (index % keep === 0) kept.push(array)
    }
    const { bytes, collections } = meter.stop()
    expect(kept.length).toBe(Math.floor(COUNT / keep))
    expect(collections).toBeGreaterThan(1)
    expect(bytes / (COUNT * ARRAY_BYTES)).toBeGreaterThan(0.97)
    expect(bytes / (COUNT * ARRAY_BYTES)).toBeLessThan(1.03)
  })
})
