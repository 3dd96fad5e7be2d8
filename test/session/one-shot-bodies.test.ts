import { once } from 'node:events'
import { Readable } from 'node:stream'
import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import type { ConnectionScript } from '../../src/testing/fault-connection.ts'
import { Flag, frames, MAX_STREAM_ID } from '../../src/testing/frames.ts'
import type { DispatchController, IncomingHttpHeaders, RequestBody } from '../../types/index.ts'
import type { Harness } from '../support/clients/engines.ts'
import { ENGINES } from '../support/clients/engines.ts'
import { Recorder } from '../support/clients/recorder.ts'
import { NO_ERROR, REFUSED_STREAM } from '../support/peers/error-codes.ts'
import { ask, SERVE, startHarness, startPeer, toOutcomes } from '../support/peers/peer-rig.ts'

/** A body that can be read only once, and how often a reader has begun. */
interface OneShot {
  readonly body: RequestBody
  opened(): number
  /** Of a web stream. */
  isCancelled?(): boolean
}

const KINDS: readonly { readonly what: string; toOneShot(): OneShot }[] = [
  {
    what: 'an async generator',
    toOneShot() {
      let opened = 0
      async function* generate(): AsyncGenerator<string> {
        opened++
        yield 'all '
        yield 'of it'
      }
      return { body: generate(), opened: () => opened }
    },
  },
  {
    what: 'a generator',
    toOneShot() {
      let opened = 0
      function* generate(): Generator<string> {
        opened++
        yield 'all '
        yield 'of it'
      }
      return { body: generate(), opened: () => opened }
    },
  },
  {
    what: 'a Readable',
    toOneShot() {
      let opened = 0
      const body = new Readable({
        read() {
          opened++
          this.push('all of it')
          this.push(null)
        },
      })
      return { body, opened: () => opened }
    },
  },
  {
    what: 'a web stream',
    toOneShot() {
      let opened = 0
      let isCancelled = false
      const source = {
        pull(controller: ReadableStreamDefaultController): void {
          opened++
          controller.enqueue(Buffer.from('all of it'))
          controller.close()
        },
        cancel(): void {
          isCancelled = true
        },
      }
      const body = new ReadableStream(source, { highWaterMark: 0 })
      return { body, opened: () => opened, isCancelled: () => isCancelled }
    },
  },
]

/** Dispatches another call from within what it hears. */
class Chained extends Recorder {
  readonly #at: string
  readonly #act: () => void

  constructor(at: string, act: () => void) {
    super()
    this.#at = at
    this.#act = act
  }

  override onResponseStart(
    controller: DispatchController,
    statusCode: number,
    headers: IncomingHttpHeaders,
  ): void {
    super.onResponseStart(controller, statusCode, headers)
    if (this.#at === 'header') this.#act()
  }

  override onResponseData(controller: DispatchController, chunk: Buffer): void {
    super.onResponseData(controller, chunk)
    if (this.#at === 'data') this.#act()
  }

  override onResponseEnd(controller: DispatchController, trailers: IncomingHttpHeaders): void {
    super.onResponseEnd(controller, trailers)
    if (this.#at === 'end') this.#act()
  }
}

describe.each(ENGINES)('a body that can be read only once, on engine %s', (engine) => {
  const options = { engine, connections: 1 } as const

  async function begin(scripts: ConnectionScript | readonly ConnectionScript[]) {
    const peer = await startPeer(scripts)
    const harness = startHarness(peer, options)
    return { peer, harness }
  }

  function dispatch(harness: Harness, { body }: OneShot): Recorder {
    return ask(harness, 'POST /upload', { body })
  }

  describe.each(KINDS)('$what', ({ toOneShot }) => {
    describe.each(['header', 'data', 'end'])('dispatched at the %s of a response', (at) => {
      it.each([
        { what: 'ahead of the response', isAhead: true, last: 1 },
        { what: 'behind the response', isAhead: false, last: 1 },
        { what: 'in two steps behind the response', isAhead: false, last: MAX_STREAM_ID },
      ])('with a GOAWAY $what, in one packet › goes out once, on the next connection', async (scene) => {
        const { isAhead, last } = scene
        const response = [frames.response(1), frames.data(1, 'first', Flag.END_STREAM)]
        const goaway = [frames.goAway(last, NO_ERROR), ...(last === 1 ? [] : [frames.goAway(1, NO_ERROR)])]
        const retiring: ConnectionScript = {
          onComplete(_stream, connection) {
            connection.write(...(isAhead ? [...goaway, ...response] : [...response, ...goaway]))
          },
        }
        const { peer, harness } = await begin([retiring, SERVE])
        const oneShot = toOneShot()
        const uploads: Recorder[] = []
        const first = harness.dispatch({}, new Chained(at, () => uploads.push(dispatch(harness, oneShot))))
        expect(await toOutcomes([first])).toEqual(['first'])
        while (uploads.length === 0) await turn()
        expect(await toOutcomes(uploads)).toEqual(['POST /upload'])
        expect(peer.connection(0).streams.map(({ text: body }) => body)).not.toContain('all of it')
        expect(peer.connection(1).streams.map(({ text: body }) => body)).toEqual(['all of it'])
        expect(oneShot.opened()).toBe(1)
      })
    })

    it('is not touched in the turn of the event loop in which its call was dispatched, and arrives', async () => {
      const { peer, harness } = await begin(SERVE)
      expect(await toOutcomes([ask(harness, 'GET /warm')])).toEqual(['GET /warm'])
      const oneShot = toOneShot()
      const call = dispatch(harness, oneShot)
      await Promise.resolve()
      await new Promise((resolve) => process.nextTick(resolve))
      expect(oneShot.opened()).toBe(0)
      expect(await toOutcomes([call])).toEqual(['POST /upload'])
      expect(peer.request('/upload').text).toBe('all of it')
    })

    it('that the server has not asked for yet is sent again when its stream is refused', async () => {
      const refusing: ConnectionScript = {
        onRequest(stream) {
          if (stream.path === '/warm') stream.respond()
          else if (stream.id === 3) stream.reset(REFUSED_STREAM)
          else stream.head(100)
        },
        onComplete(stream) {
          if (stream.path === '/upload') stream.respond()
        },
      }
      const { peer, harness } = await begin(refusing)
      expect(await toOutcomes([ask(harness, 'GET /warm')])).toEqual(['GET /warm'])
      const { body } = toOneShot()
      const call = ask(harness, 'POST /upload', { body, expectContinue: true })
      expect(await toOutcomes([call])).toEqual(['POST /upload'])
      expect(peer.ledger).toEqual(['0/1 GET /warm', '0/3 POST /upload', '0/5 POST /upload'])
      expect(peer.connection(0).streams.map((stream) => stream.text)).toEqual(['', '', 'all of it'])
    })

    it('that the server has not asked for yet goes to another connection after a 421', async () => {
      const misdirecting: ConnectionScript = { onRequest: (stream) => stream.head(421) }
      const asking: ConnectionScript = { ...SERVE, onRequest: (stream) => stream.head(100) }
      const { peer, harness } = await begin([misdirecting, asking])
      const { body } = toOneShot()
      const call = ask(harness, 'POST /upload', { body, expectContinue: true })
      expect(await toOutcomes([call])).toEqual(['POST /upload'])
      expect(peer.connection(1).streams.map((stream) => stream.text)).toEqual(['all of it'])
    })

    it.each([
      'its call',
      'its dispatcher',
    ])('is destroyed, without being read, when %s ends in that turn', async (what) => {
      const { harness } = await begin(SERVE)
      expect(await toOutcomes([ask(harness, 'GET /warm')])).toEqual(['GET /warm'])
      const oneShot = toOneShot()
      const call = dispatch(harness, oneShot)
      if (what === 'its call') call.controller?.abort(new Error('no more'))
      else await harness.scheduler.destroy(new Error('no more'))
      await call.settled
      expect(call.error.message).toBe('no more')
      await turn()
      await turn()
      expect(oneShot.opened()).toBe(0)
      const { body } = oneShot
      if (body instanceof Readable) expect(body.destroyed).toBe(true)
      if (body instanceof ReadableStream) expect(oneShot.isCancelled?.()).toBe(true)
    })
  })

  it('a Readable that another reader has started is read at once, so that no data is missed', async () => {
    const { peer, harness } = await begin(SERVE)
    expect(await toOutcomes([ask(harness, 'GET /warm')])).toEqual(['GET /warm'])
    const body = Readable.from([Buffer.from('all '), Buffer.from('of it')])
    const seen: string[] = []
    body.on('data', (chunk) => seen.push(String(chunk)))
    const call = ask(harness, 'POST /upload', { body })
    await once(body, 'end')
    expect(await toOutcomes([call])).toEqual(['POST /upload'])
    expect([peer.request('/upload').text, seen]).toEqual(['all of it', ['all ', 'of it']])
  })
})
