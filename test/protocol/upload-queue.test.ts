import { describe, expect, it } from 'vitest'
import { Flag, frames, Setting, Type } from '../../src/testing/frames.ts'
import { CANCEL } from '../support/peers/error-codes.ts'
import type { HeardStream } from './support/rig.ts'
import { Rig } from './support/rig.ts'

const DEFAULT_WINDOW = 65_535

/** A rig whose peer has these windows for what is sent. */
function start(streamWindow: number, connectionWindow = 1_000_000): Rig {
  const rig = new Rig()
  rig.receive(frames.settings([Setting.INITIAL_WINDOW_SIZE, streamWindow]))
  if (connectionWindow > DEFAULT_WINDOW)
    rig.receive(frames.windowUpdate(0, connectionWindow - DEFAULT_WINDOW))
  return rig
}

function open(rig: Rig, count: number): HeardStream[] {
  return Array.from({ length: count }, () => rig.open({ hasBody: true }))
}

/** The DATA frames of what goes out: `3:100` is one of stream 3 with 100 bytes; a `!` is END_STREAM. */
function takeData(rig: Rig, upTo?: number): string[] {
  return rig
    .take(upTo)
    .filter(({ type }) => type === Type.DATA)
    .map(
      ({ streamId, payload, flags }) =>
        `${streamId}:${payload.length}${flags === Flag.END_STREAM ? '!' : ''}`,
    )
}

const bytes = (size: number): Buffer => Buffer.alloc(size, 'x')

describe('uploads', () => {
  it('of several streams › take turns, frame by frame', () => {
    const rig = start(100_000)
    for (const stream of open(rig, 3)) rig.http2.send(stream, bytes(40_000), true)
    expect(takeData(rig)).toEqual([
      ...['1:16384', '3:16384', '5:16384', '1:16384', '3:16384', '5:16384', '1:7232!', '3:7232!', '5:7232!'],
    ])
    expect(rig.streams.map(({ events }) => events)).toEqual(
      [1, 2, 3].map(() => ['sent some', 'sent some', 'sent all']),
    )
    expect(rig.streams.map(({ state }) => state)).toEqual([1, 2, 3].map(() => 'half-closed (local)'))
  })

  it('when only a part is requested › continue where they stopped', () => {
    const rig = start(100_000)
    for (const stream of open(rig, 2)) rig.http2.send(stream, bytes(20_000), true)
    expect(takeData(rig, 1)).toEqual(['1:1'])
    expect(takeData(rig, 16_000)).toEqual(['3:16000'])
    expect(takeData(rig)).toEqual(['1:16384', '3:4000!', '1:3615!'])
  })

  it('of a stream whose window is used up › leave the queue, and return to it with WINDOW_UPDATE', () => {
    const rig = start(10)
    const [first, second] = open(rig, 2) as [HeardStream, HeardStream]
    rig.http2.send(first, bytes(25), true)
    rig.http2.send(second, bytes(10), true)
    expect(takeData(rig)).toEqual(['1:10', '3:10!'])
    expect(rig.http2.hasUploads).toBe(false)
    rig.receive(frames.windowUpdate(1, 7))
    expect(rig.http2.hasUploads).toBe(true)
    expect(takeData(rig)).toEqual(['1:7'])
    rig.receive(frames.settings([Setting.INITIAL_WINDOW_SIZE, 18]))
    expect(takeData(rig)).toEqual(['1:8!'])
  })

  it('when the connection window is used up › wait in their order, and an empty frame with END_STREAM passes', () => {
    const rig = start(100_000, DEFAULT_WINDOW)
    const [first, second, third, fourth] = open(rig, 4) as [
      HeardStream,
      HeardStream,
      HeardStream,
      HeardStream,
    ]
    rig.http2.send(first, bytes(DEFAULT_WINDOW), true)
    takeData(rig)
    rig.http2.send(second, bytes(10), true)
    rig.http2.send(third, bytes(0), true)
    rig.http2.send(fourth, bytes(10), true)
    expect(takeData(rig)).toEqual(['5:0!'])
    expect([rig.http2.sendWindow, rig.http2.hasUploads]).toEqual([0, false])
    rig.receive(frames.windowUpdate(0, 15))
    expect(takeData(rig)).toEqual(['3:10!', '7:5'])
    rig.receive(frames.windowUpdate(0, 15))
    expect(takeData(rig)).toEqual(['7:5!'])
    expect(rig.http2.sendWindow).toBe(10)
  })
})

describe('an upload whose memory was transferred', () => {
  it.each([0, 20_000])('after %i bytes were sent › is lost, and the others continue', (sent) => {
    const rig = start(100_000)
    const [first, second] = open(rig, 2) as [HeardStream, HeardStream]
    const memory = new Uint8Array(50_000)
    rig.http2.send(first, memory, true)
    if (sent > 0) takeData(rig, sent)
    structuredClone(memory, { transfer: [memory.buffer] })
    rig.http2.send(second, bytes(10), true)
    expect(takeData(rig)).toEqual(['3:10!'])
    expect([first.events.at(-1), rig.http2.hasUploads]).toEqual(['lost', false])
  })
})

describe('an upload that is aborted while frames are written', () => {
  it('when its own piece was framed › sends nothing more, and the others continue', () => {
    const rig = start(100_000)
    const [first, second] = open(rig, 2) as [HeardStream, HeardStream]
    first.onEvent = () => rig.http2.reset(first, 8)
    rig.http2.send(first, bytes(50_000), true)
    rig.http2.send(second, bytes(20_000), true)
    const sent = rig.take().filter(({ type }) => type !== Type.SETTINGS && type !== Type.HEADERS)
    const summary = sent.map(({ type, streamId }) => `${streamId} ${type}`)
    expect(summary.filter((one) => one.startsWith('1 '))).toEqual([`1 ${Type.DATA}`, `1 ${Type.RST_STREAM}`])
    expect(summary.filter((one) => one.startsWith('3 '))).toEqual([`3 ${Type.DATA}`, `3 ${Type.DATA}`])
    expect(first.events).toEqual(['sent some', 'forgotten'].toReversed())
  })

  it('when a sibling’s piece was framed › leaves the queue from any position', () => {
    for (const victim of [1, 2, 3]) {
      const rig = start(100_000)
      const streams = open(rig, 4)
      const [first] = streams as [HeardStream]
      first.onEvent = () => rig.http2.reset(streams[victim] as HeardStream, 8)
      for (const stream of streams) rig.http2.send(stream, bytes(10), true)
      const expected = [0, 1, 2, 3].filter((at) => at !== victim).map((at) => `${2 * at + 1}:10!`)
      expect(takeData(rig)).toEqual(expected)
      // The line is whole: who comes now is the last.
      rig.http2.send(rig.open({ hasBody: true }), bytes(1), true)
      expect(takeData(rig)).toEqual(['9:1!'])
    }
  })

  it('when it is given its next piece meanwhile › takes its turn behind the others', () => {
    const rig = start(100_000)
    const [first, second] = open(rig, 2) as [HeardStream, HeardStream]
    let left = 2
    first.onEvent = () => {
      if (left > 0) rig.http2.send(first, bytes(1), --left === 0)
    }
    rig.http2.send(first, bytes(10), false)
    rig.http2.send(second, bytes(30_000), true)
    expect(takeData(rig)).toEqual(['1:10', '3:16384', '1:1', '3:13616!', '1:1!'])
  })
})

/** Counts how often the queue looks at one of these streams' neighbours or pieces. */
function countLooks(streams: readonly HeardStream[]): () => number {
  let looks = 0
  for (const { upload } of streams) {
    if (upload === null) throw new Error('a stream without an upload has no neighbours')
    for (const key of ['next', 'piece'] as const) {
      let value: unknown = upload[key]
      Object.defineProperty(upload, key, {
        get: () => {
          looks++
          return value
        },
        set: (next) => {
          value = next
        },
      })
    }
  }
  return () => looks
}

describe('2,000 queued uploads', () => {
  const COUNT = 2_000

  /** They wait behind an upload that has used the connection window up. */
  function queue() {
    const rig = start(100_000, DEFAULT_WINDOW)
    rig.http2.send(rig.open({ hasBody: true }), bytes(DEFAULT_WINDOW), true)
    takeData(rig)
    const streams = open(rig, COUNT)
    const toLooks = countLooks(streams)
    for (const stream of streams) rig.http2.send(stream, bytes(10), true)
    return { rig, streams, toLooks, before: toLooks() }
  }

  it.each([
    { order: 'the order of the queue', toOrder: (streams: HeardStream[]) => streams },
    { order: 'the opposite order', toOrder: (streams: HeardStream[]) => streams.toReversed() },
    {
      order: 'turns',
      toOrder: (streams: HeardStream[]) => [0, 1].flatMap((odd) => streams.filter((_, at) => at % 2 === odd)),
    },
  ])('when all of them are aborted in $order › are looked at a few times each', ({ toOrder }) => {
    const { rig, streams, toLooks, before } = queue()
    for (const stream of toOrder(streams)) rig.http2.cancel(stream)
    expect(toLooks() - before).toBeLessThan(COUNT * 10)
    rig.receive(frames.windowUpdate(0, 1))
    expect(takeData(rig)).toEqual([])
  })

  it('when the connection window is used up › are not looked at in each flush', () => {
    const { rig, toLooks, before } = queue()
    for (let flush = 0; flush < 1_000; flush++) expect(takeData(rig)).toEqual([])
    // An empty frame needs no window, wherever its stream stands.
    rig.http2.send(rig.open({ hasBody: true }), bytes(0), true)
    expect(takeData(rig)).toEqual([`${2 * COUNT + 3}:0!`])
    expect(toLooks() - before).toBeLessThan(10_000)
    rig.receive(frames.windowUpdate(0, 15))
    expect(takeData(rig)).toEqual(['3:10!', '5:5'])
  })
})

describe('uploads that the connection window limits', () => {
  /** A peer that reads all that comes, and returns credit for it. @returns the DATA frames, as `takeData()` does */
  function relay(rig: Rig): string[] {
    const all: string[] = []
    for (let data = takeData(rig); data.length > 0; data = takeData(rig)) {
      all.push(...data)
      for (const one of data) {
        const [id = 0, size = 0] = one.split(/[:!]/).map(Number)
        rig.receive(frames.windowUpdate(0, size), frames.windowUpdate(id, size))
      }
    }
    return all
  }

  it('when one has begun › is finished before the next one begins', () => {
    const rig = start(1_000_000, DEFAULT_WINDOW)
    for (const stream of open(rig, 3)) rig.http2.send(stream, bytes(50_000), true)
    expect(takeData(rig)).toEqual(['1:16384', '1:16384', '1:16384', '1:848!', '3:15535'])
    rig.receive(frames.windowUpdate(0, 10_000))
    expect(takeData(rig)).toEqual(['3:10000'])
    rig.receive(frames.windowUpdate(0, 30_000))
    expect(takeData(rig)).toEqual(['3:16384', '3:8081!', '5:5535'])
  })

  it('when its next piece comes › goes on with it, ahead of those that have not begun', () => {
    const rig = start(1_000_000, DEFAULT_WINDOW)
    const [first, second] = open(rig, 2) as [HeardStream, HeardStream]
    let left = 3
    first.onEvent = (event) => {
      if (event === 'sent all' && left > 0) rig.http2.send(first, bytes(10_000), --left === 0)
    }
    rig.http2.send(first, bytes(10_000), false)
    rig.http2.send(second, bytes(60_000), true)
    expect(takeData(rig)).toEqual(['1:10000', '1:10000', '1:10000', '1:10000!', '3:16384', '3:9151'])
  })

  it('when its own window was used up › goes on as soon as it is open again', () => {
    const rig = start(20_000, DEFAULT_WINDOW)
    for (const stream of open(rig, 5)) rig.http2.send(stream, bytes(40_000), true)
    expect(takeData(rig)).toEqual(['1:16384', '1:3616', '3:16384', '3:3616', '5:16384', '5:3616', '7:5535'])
    rig.receive(frames.windowUpdate(1, 20_000), frames.windowUpdate(0, 20_000))
    expect(takeData(rig)).toEqual(['1:16384', '1:3616!'])
  })

  it('when it is longer than a MiB › takes turns with the others', () => {
    const rig = start(10_000_000, DEFAULT_WINDOW)
    const [long, short] = open(rig, 2) as [HeardStream, HeardStream]
    rig.http2.send(long, bytes(8_000_000), true)
    rig.http2.send(short, bytes(100), true)
    const before = relay(rig).indexOf('3:100!') * 16_384
    expect(before).toBeGreaterThan(1_000_000)
    expect(before).toBeLessThan(1_500_000)
  })

  it.each([
    {
      what: 'a field',
      urge: (_rig: Rig, _stream: HeardStream): void => {},
      priority: ['u=7', 'u=1, i', null, 'i;x, u=0'],
    },
    {
      what: 'PRIORITY_UPDATE',
      urge: (rig: Rig, { id }: HeardStream): void => {
        const stream = rig.streams.find((one) => one.id === id)
        const value = { 1: 'u=7', 3: 'u=1, i', 5: '', 7: 'i, u=0' }[id]
        if (stream !== undefined && value !== undefined) rig.http2.reprioritize(stream, value)
      },
      priority: [null, null, null, null],
    },
  ])('when they have an urgency by $what › are sent in its order', ({ urge, priority }) => {
    const rig = start(1_000_000, DEFAULT_WINDOW)
    for (const value of priority) {
      const stream = rig.open({ hasBody: true, priority: value })
      rig.http2.send(stream, bytes(30_000), true)
      urge(rig, stream)
    }
    const ends = relay(rig).filter((data) => data.endsWith('!'))
    expect(ends.map((data) => Number(data.split(':')[0]))).toEqual([7, 3, 5, 1])
  })

  it('when a more urgent one comes › is interrupted by it', () => {
    const rig = start(1_000_000, DEFAULT_WINDOW)
    rig.http2.send(rig.open({ hasBody: true }), bytes(100_000), true)
    takeData(rig)
    rig.http2.send(rig.open({ hasBody: true, priority: 'u=0' }), bytes(20_000), true)
    rig.receive(frames.windowUpdate(0, 65_535))
    expect(takeData(rig)).toEqual(['3:16384', '3:3616!', '1:16384', '1:16384', '1:1697!'])
  })

  describe('while an older one has nothing to send', () => {
    it('and nothing is read › leave a quarter of the window to it', () => {
      const rig = start(1_000_000, DEFAULT_WINDOW)
      const [first, second] = open(rig, 2) as [HeardStream, HeardStream]
      rig.http2.send(second, bytes(100_000), true)
      expect(takeData(rig)).toEqual(['3:16384', '3:16384', '3:16384'])
      expect([rig.http2.sendWindow, rig.http2.hasUploads]).toEqual([16_383, false])
      rig.http2.send(first, bytes(50_000), true)
      expect(takeData(rig)).toEqual(['1:16383'])
      // The peer reads the first one, and nothing else.
      const sent: string[] = []
      while (first.state === 'open') {
        rig.receive(frames.windowUpdate(0, 16_383), frames.windowUpdate(1, 16_383))
        sent.push(...takeData(rig))
      }
      expect(sent).toEqual(['1:16383', '1:16383', '1:851!', '3:15532'])
    })

    it.each([
      { what: 'of the connection', toIds: () => [0] },
      { what: 'of the connection and the stream', toIds: (id: number) => [0, id] },
    ])('and the peer returns credit $what once it has read half of the window › go on', ({ toIds }) => {
      const rig = start(1_000_000, DEFAULT_WINDOW)
      const [, second] = open(rig, 2) as [HeardStream, HeardStream]
      rig.http2.send(second, bytes(500_000), true)
      let read = 0
      for (let data = takeData(rig); data.length > 0; data = takeData(rig)) {
        for (const one of data) read += Number.parseInt(one.split(':')[1] ?? '', 10)
        if (read < 32_768) continue
        for (const id of toIds(second.id)) rig.receive(frames.windowUpdate(id, read))
        read = 0
      }
      expect(second.state).toBe('half-closed (local)')
    })

    it.each([
      { how: 'is reset', end: (rig: Rig, first: HeardStream): void => rig.http2.reset(first, 8) },
      { how: 'is abandoned', end: (rig: Rig, first: HeardStream): void => rig.http2.cancel(first) },
      {
        how: 'ends with trailers',
        end: (rig: Rig, first: HeardStream): void => rig.http2.sendTrailers(first, ['a', 'b']),
      },
      { how: 'is reset by the peer', end: (rig: Rig): void => rig.receive(frames.reset(1, CANCEL)) },
    ])('until that one $how › get the rest of the window, and are flushed', ({ end }) => {
      const rig = start(1_000_000, DEFAULT_WINDOW)
      const [first, second] = open(rig, 2) as [HeardStream, HeardStream]
      rig.http2.send(second, bytes(100_000), true)
      takeData(rig)
      let flushes = 0
      rig.onOutput = () => flushes++
      end(rig, first)
      expect(flushes).toBe(1)
      expect(takeData(rig)).toEqual(['3:16383'])
    })
  })
})
