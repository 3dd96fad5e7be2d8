import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import type { ConnectionScript } from '../../src/testing/fault-connection.ts'
import type { FaultStream } from '../../src/testing/fault-stream.ts'
import { Flag, frames } from '../../src/testing/frames.ts'
import type { DispatchOptions, RequestBody } from '../../types/index.ts'
import type { Harness } from '../support/clients/engines.ts'
import { ENGINES } from '../support/clients/engines.ts'
import { begin, FakeFallback, respondTo } from '../support/clients/fallback-fake.ts'
import type { Recorder } from '../support/clients/recorder.ts'
import { HTTP_1_1_REQUIRED, NO_ERROR, REFUSED_STREAM } from '../support/peers/error-codes.ts'
import { ask, SERVE, startHarness, startPeer, toOutcomes } from '../support/peers/peer-rig.ts'

const TEXT = 'all of it'
const LENGTH = { 'content-length': String(TEXT.length) }

/** A body that can be read once, whose pieces come when the test lets them. */
class Gate {
  /** Whether the code that made the body was told that the rest isn't wanted. */
  isReturned = false
  opened = 0
  open: () => void = () => {}
  fail: (error: Error) => void = () => {}
  readonly #passed = new Promise<void>((resolve, reject) => {
    this.open = resolve
    this.fail = reject
  })

  /** The first piece comes at once, each other one after {@link open}. */
  async *generate(pieces: readonly unknown[] = ['all ', 'of it']): AsyncGenerator<never> {
    this.opened++
    let isOver = false
    try {
      for (const [index, piece] of pieces.entries()) {
        if (index > 0) await this.#passed
        yield piece as never
      }
      isOver = true
    } finally {
      this.isReturned = !isOver
    }
  }
}

const KINDS: readonly { readonly what: string; toBody(): RequestBody }[] = [
  { what: 'an async generator', toBody: () => new Gate().generate([TEXT]) },
  {
    what: 'an async generator of bytes in several pieces',
    toBody() {
      async function* generate() {
        for (const byte of Buffer.from(TEXT)) {
          await turn()
          yield Uint8Array.of(byte)
        }
      }
      return generate()
    },
  },
  {
    what: 'a generator that uses its memory again',
    toBody() {
      function* generate() {
        const memory = Buffer.alloc(1)
        for (const byte of Buffer.from(TEXT)) {
          memory[0] = byte
          yield memory
        }
      }
      return generate()
    },
  },
  { what: 'a web stream', toBody: () => new Blob([TEXT]).stream() },
]

/** How a server says that it hasn't processed a request, which it does where a part of the body has come. */
const REFUSALS: readonly {
  readonly what: string
  refuse(stream: FaultStream): void
}[] = [
  { what: 'RST_STREAM with REFUSED_STREAM', refuse: (stream) => stream.reset(REFUSED_STREAM) },
  {
    what: 'a GOAWAY that leaves the stream out',
    refuse: ({ connection, id }) => connection.write(frames.goAway(id - 2, NO_ERROR)),
  },
]

describe.each(ENGINES)('a body of a known length that can be read once, on engine %s', (engine) => {
  const options = { engine, connections: 1 } as const

  /** The first connection answers a GET, and refuses a POST at the first bytes of its body; the next one serves. */
  async function start(refuse: (stream: FaultStream) => void, more: object = {}) {
    let isRefused = false
    const serving: ConnectionScript = {
      // Credit for the body would contradict the refusal.
      grantsCredit: false,
      onComplete: (stream) => stream.respond(),
      onData: (stream) => {
        if (stream.path !== '/upload' || isRefused) return
        isRefused = true
        refuse(stream)
      },
    }
    const peer = await startPeer([serving, SERVE])
    const harness = startHarness(peer, { ...options, ...more })
    expect(await toOutcomes([ask(harness, 'GET /warm')])).toEqual(['GET /warm'])
    return { peer, harness }
  }

  function post(harness: Harness, body: RequestBody, more: Partial<DispatchOptions> = {}): Recorder {
    return ask(harness, 'POST /upload', { body, headers: LENGTH, ...more })
  }

  describe.each(REFUSALS)('when $what comes in the middle', ({ refuse }) => {
    it.each(KINDS)('is sent again, whole, if it is $what', async ({ toBody }) => {
      const { peer, harness } = await start(refuse)
      expect(await toOutcomes([post(harness, toBody())])).toEqual(['POST /upload'])
      expect(peer.requests.at(-1)?.text).toBe(TEXT)
      expect(peer.requests).toHaveLength(3)
    })

    it('is sent again with the rest of it, which comes later', async () => {
      const { peer, harness } = await start(refuse)
      const gate = new Gate()
      const call = post(harness, gate.generate())
      await expect.poll(() => peer.requests.at(-1)?.text).toBe('all ')
      await expect.poll(() => peer.requests.length).toBe(3)
      gate.open()
      expect(await toOutcomes([call])).toEqual(['POST /upload'])
      expect([peer.requests.at(-1)?.text, gate.opened, gate.isReturned]).toEqual([TEXT, 1, false])
    })

    it('fails its call with what its source throws between two attempts', async () => {
      const { peer, harness } = await start(refuse)
      const gate = new Gate()
      const call = post(harness, gate.generate())
      await expect.poll(() => peer.requests.length).toBe(3)
      gate.fail(new Error('the source broke'))
      await call.settled
      expect(call.error.message).toBe('the source broke')
    })

    it.each<[string, (call: Recorder, harness: Harness) => unknown]>([
      ['abort()', (call) => call.controller?.abort(new Error('no more'))],
      ['destroy()', (_call, harness) => harness.scheduler.destroy(new Error('no more'))],
    ])('is told by %s that the rest is not wanted', async (_what, end) => {
      const { peer, harness } = await start(refuse)
      const gate = new Gate()
      const call = post(harness, gate.generate())
      await expect.poll(() => peer.requests.length).toBe(3)
      await end(call, harness)
      await call.settled
      expect(call.error.message).toBe('no more')
      gate.open()
      await expect.poll(() => gate.isReturned).toBe(true)
    })

    it.each<[string, readonly unknown[], number, string]>([
      ['fewer bytes', ['all '], 3, 'got 4 bytes, expected 9'],
      ['more bytes', ['all ', 'of it, and more'], 3, 'got 19 bytes, expected 9'],
      ['no bytes', ['all ', 12], 3, 'Invalid chunk of the request body: got 12'],
    ])('fails its call if its source gives %s', async (_what, pieces, attempts, message) => {
      const { peer, harness } = await start(refuse)
      const gate = new Gate()
      const call = post(harness, gate.generate(pieces))
      if (pieces.length > 1) await expect.poll(() => peer.requests.length).toBe(attempts)
      gate.open()
      await call.settled
      expect(call.error.message).toContain(message)
      expect(call.error).toMatchObject({
        code: expect.stringMatching(/^(ERR_INVALID_ARG_TYPE$|UND_ERR_REQ_CONTENT_)/),
      })
    })

    it.each<[string, Partial<DispatchOptions>, object]>([
      ['has no content-length', { headers: {} }, {}],
      ['is longer than the maxReplayBuffer of its request', { maxReplayBuffer: 8 }, {}],
      ['is longer than the maxReplayBuffer of its dispatcher', {}, { maxReplayBuffer: 0 }],
    ])('is not sent again if it %s', async (_what, more, ofDispatcher) => {
      const { peer, harness } = await start(refuse, ofDispatcher)
      const call = post(harness, new Gate().generate(), more)
      await call.settled
      expect(call.error).toMatchObject({ processed: 'no', attempts: 1 })
      expect(peer.requests).toHaveLength(2)
    })

    it('keeps its place: a call that was dispatched later goes out later', async () => {
      const { peer, harness } = await start(refuse)
      const gate = new Gate()
      const first = post(harness, gate.generate())
      await expect.poll(() => peer.requests.length).toBe(3)
      const second = ask(harness, 'POST /second')
      expect(await toOutcomes([second])).toEqual(['POST /second'])
      gate.open()
      expect(await toOutcomes([first])).toEqual(['POST /upload'])
      const { connection } = peer.request('/second')
      const ids = peer.requests.filter((request) => request.connection === connection).map(({ id }) => id)
      expect(ids).toEqual(ids.toSorted((a, b) => a - b))
    })
  })

  it('goes out before the peer has said its SETTINGS', async () => {
    const peer = await startPeer(SERVE)
    const harness = startHarness(peer, options)
    const calls = [ask(harness, 'GET /first'), post(harness, new Gate().generate([TEXT]))]
    expect(await toOutcomes(calls)).toEqual(['GET /first', 'POST /upload'])
    expect(peer.connections).toHaveLength(1)
  })

  it('goes to another connection after a 421', async () => {
    const misdirecting: ConnectionScript = { grantsCredit: false, onComplete: (stream) => stream.head(421) }
    const peer = await startPeer([misdirecting, SERVE])
    const harness = startHarness(peer, options)
    expect(await toOutcomes([post(harness, new Gate().generate([TEXT]))])).toEqual(['POST /upload'])
    expect(peer.requests.map(({ text }) => text)).toEqual([TEXT, TEXT])
  })

  it('goes to the fallback after HTTP_1_1_REQUIRED', async () => {
    const peer = await startPeer({ onData: (stream) => stream.reset(HTTP_1_1_REQUIRED) })
    const sent: string[] = []
    const fallback = new FakeFallback(async (request) => {
      begin(request)
      for await (const piece of request.options.body as AsyncIterable<Uint8Array>) sent.push(String(piece))
      respondTo(request)
    })
    const harness = startHarness(peer, { ...options, fallback })
    const call = post(harness, new Gate().generate([TEXT]))
    await call.settled
    expect(sent).toEqual([TEXT])
  })

  it('that is idempotent is sent again when its connection dies', async () => {
    const peer = await startPeer([{ onComplete: (_stream, connection) => connection.break() }, SERVE])
    const harness = startHarness(peer, options)
    const call = post(harness, new Gate().generate([TEXT]), { idempotent: true })
    expect(await toOutcomes([call])).toEqual(['POST /upload'])
    expect(peer.requests.map(({ text }) => text)).toEqual([TEXT, TEXT])
  })

  it('is not read on once a complete response has come, and is told so', async () => {
    const peer = await startPeer({
      onData: ({ connection, id }) =>
        connection.write(frames.response(id), frames.data(id, 'early', Flag.END_STREAM)),
    })
    const harness = startHarness(peer, options)
    const gate = new Gate()
    expect(await toOutcomes([post(harness, gate.generate())])).toEqual(['early'])
    gate.open()
    await expect.poll(() => gate.isReturned).toBe(true)
  })

  it('is untouched if its call ends before it has begun, and a web stream is cancelled', async () => {
    const peer = await startPeer(SERVE)
    const harness = startHarness(peer, options)
    const gate = new Gate()
    const reasons: unknown[] = []
    const stream = new ReadableStream({ cancel: (reason) => void reasons.push(reason) })
    const calls = [post(harness, gate.generate()), post(harness, stream)]
    for (const call of calls) call.controller?.abort(new Error('no more'))
    await Promise.all(calls.map((call) => call.settled))
    await turn()
    await turn()
    expect([gate.opened, reasons.length]).toEqual([0, 1])
  })
})
