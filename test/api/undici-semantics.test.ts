/** What a program written for undici may rely on beside requests and responses: each scene is played on undici, too. */

import { once } from 'node:events'
import type { RequestListener } from 'node:http'
import { createServer } from 'node:http'
import { PassThrough, pipeline } from 'node:stream'
import * as theirs from 'undici'
import { describe, expect, it } from 'vitest'
import * as ours from '../../src/index.ts'
import { listen } from '../support/servers/listen.ts'

/** The part of undici's Client that the scenes use. The types of both say more, and not the same. */
interface Sender {
  readonly closed: boolean
  readonly destroyed: boolean
  // biome-ignore lint/suspicious/noExplicitAny: the scenes pass what the types forbid
  [method: string]: any
}

const MAKERS = {
  Client: {
    ours: (origin: string): Sender => new ours.Client(origin, { h2c: false }),
    theirs: (origin: string): Sender => new theirs.Client(origin),
  },
  Pool: {
    ours: (origin: string): Sender => new ours.Pool(origin, { h2c: false }),
    theirs: (origin: string): Sender => new theirs.Pool(origin),
  },
  Agent: {
    ours: (): Sender => new ours.Agent(),
    theirs: (): Sender => new theirs.Agent(),
  },
} as const

/** What was thrown, in words that are the same for both. */
function name(error: unknown): string {
  const { code, name, message } = error as Error & { code?: string }
  return code ?? `${name}: ${message}`
}

/** The outcome of a call. */
async function outcome(call: () => unknown): Promise<string> {
  let returned: unknown
  try {
    returned = call()
  } catch (error) {
    return `threw ${name(error)}`
  }
  try {
    await returned
    return 'settled'
  } catch (error) {
    return `rejected with ${name(error)}`
  }
}

/** What a callback gets. */
const called = (call: (callback: (...values: unknown[]) => void) => void): Promise<unknown[]> =>
  new Promise((resolve) =>
    call((...values) => resolve(values.map((value) => (value instanceof Error ? name(value) : value)))),
  )

const NOWHERE = 'http://127.0.0.1:1'
const GET = { origin: NOWHERE, path: '/', method: 'GET' }

const ENDS: [what: string, play: (sender: Sender) => Promise<unknown>][] = [
  ['close()', async (sender) => [await outcome(() => sender.close()), sender.closed, sender.destroyed]],
  [
    'close() twice at once',
    async (sender) => [
      await Promise.all([outcome(() => sender.close()), outcome(() => sender.close())]),
      sender.destroyed,
    ],
  ],
  [
    'close() behind destroy()',
    async (sender) => [await outcome(() => sender.destroy()), await outcome(() => sender.close())],
  ],
  [
    'close() beside destroy()',
    async (sender) => {
      const destroyed = outcome(() => sender.destroy())
      return [sender.closed, sender.destroyed, await outcome(() => sender.close()), await destroyed]
    },
  ],
  [
    'destroy() beside close()',
    async (sender) => {
      const closed = outcome(() => sender.close())
      return [await outcome(() => sender.destroy()), await closed]
    },
  ],
  [
    'destroy() twice',
    async (sender) => [await outcome(() => sender.destroy()), await outcome(() => sender.destroy())],
  ],
  ['close(callback)', (sender) => called((callback) => sender.close(callback))],
  [
    'close(callback) behind destroy()',
    async (sender) => {
      await sender.destroy()
      return called((callback) => sender.close(callback))
    },
  ],
  ['destroy(callback)', (sender) => called((callback) => sender.destroy(callback))],
  ['destroy(null, callback)', (sender) => called((callback) => sender.destroy(null, callback))],
  ['destroy(error, callback)', (sender) => called((callback) => sender.destroy(new Error('why'), callback))],
  ['close(null)', async (sender) => [await outcome(() => sender.close(null)), sender.closed]],
  ['close(5)', async (sender) => [await outcome(() => sender.close(5)), sender.closed]],
  [
    'destroy(null, null)',
    async (sender) => [await outcome(() => sender.destroy(null, null)), sender.destroyed],
  ],
  ['destroy(null, 5)', async (sender) => [await outcome(() => sender.destroy(null, 5)), sender.destroyed]],
  [
    'a request behind close()',
    async (sender) => {
      const closed = sender.close()
      const refused = await outcome(() => sender.request(GET))
      await closed
      return [refused, await outcome(() => sender.request(GET))]
    },
  ],
  [
    'a request behind destroy()',
    async (sender) => {
      await sender.destroy()
      return outcome(() => sender.request(GET))
    },
  ],
]

describe.each(['Client', 'Pool', 'Agent'] as const)('the end of a %s is as in undici', (kind) => {
  it.each(ENDS)('%s', async (_what, play) => {
    const expected = await play(MAKERS[kind].theirs(NOWHERE))
    expect(await play(MAKERS[kind].ours(NOWHERE))).toEqual(expected)
  })
})

/** The handlers that undici refuses, by the method that is wrong. */
const WHOLE = { onRequestStart() {}, onResponseStart() {}, onResponseData() {}, onResponseEnd() {} }
const FLAWS: [what: string, flaw: object][] = [
  ['no onResponseStart', { onResponseStart: undefined }],
  ['no onResponseData', { onResponseData: undefined }],
  ['no onResponseEnd', { onResponseEnd: null }],
  ['an onBodySent that is no function', { onBodySent: '42' }],
  ['an onRequestSent that is no function', { onRequestSent: 42 }],
]

describe('dispatch()', () => {
  it.each(FLAWS)('tells a handler of its flaw: %s', async (_what, flaw) => {
    const play = async (sender: Sender): Promise<unknown> => {
      const told: unknown[] = []
      const handler = {
        ...WHOLE,
        onResponseError: (_: unknown, error: Error) => told.push(name(error)),
        ...flaw,
      }
      const returned = await outcome(() => sender.dispatch(GET, handler))
      await sender.destroy()
      return [told, returned]
    }
    // So does undici 8. undici 7 asks first whether the client is open.
    const expected = [['UND_ERR_INVALID_ARG'], 'settled']
    expect(await play(MAKERS.Client.ours(NOWHERE))).toEqual(expected)
    expect(await play(MAKERS.Client.ours(NOWHERE).compose((dispatch: unknown) => dispatch))).toEqual(expected)
  })

  it('tells a handler of the older shape by onError', async () => {
    const told: unknown[] = []
    const client = MAKERS.Client.ours(NOWHERE)
    expect(client.dispatch(GET, { onConnect() {}, onError: (error: Error) => told.push(name(error)) })).toBe(
      false,
    )
    expect(told).toEqual(['UND_ERR_INVALID_ARG'])
    expect(() => client.dispatch(GET, { onConnect() {} })).toThrow(ours.errors.InvalidArgumentError)
    expect(() => client.dispatch(GET, null)).toThrow(ours.errors.InvalidArgumentError)
    await client.destroy()
  })
})

async function serve(listener: RequestListener): Promise<string> {
  return `http://127.0.0.1:${(await listen(createServer(listener))).port}`
}

/** What a destination, or the stream that a handler of pipeline() returns, may be. */
const STREAMS: [what: string, listener: RequestListener, play: (sender: Sender) => Promise<unknown>][] = [
  [
    'stream(): a Duplex that nobody can read is destroyed at its end',
    (_, response) => response.end('all'),
    async (sender) => {
      const sink = Object.assign(new PassThrough(), { readable: false })
      await sender.stream({ path: '/', method: 'GET' }, () => sink)
      return sink.destroyed
    },
  ],
  [
    'stream(): a destination without destroy()',
    (_, response) => response.end('all'),
    async (sender) => {
      const sink = new PassThrough({ autoDestroy: false }).resume()
      Reflect.set(sink, 'destroy', null)
      return outcome(() => sender.stream({ path: '/', method: 'GET' }, () => sink))
    },
  ],
  [
    'stream(): a Duplex that can be read is left open',
    (_, response) => response.end('all'),
    async (sender) => {
      const sink = new PassThrough()
      await sender.stream({ path: '/', method: 'GET' }, () => sink)
      return [sink.destroyed, String(sink.read())]
    },
  ],
  [
    'stream(): a destination that is destroyed midway',
    (_, response) => response.write('half'),
    (sender) =>
      outcome(() =>
        sender.stream({ path: '/', method: 'GET' }, () => {
          const sink = new PassThrough()
          setImmediate(() => sink.destroy())
          return sink
        }),
      ),
  ],
  [
    'stream(): a full destination of an older kind, without writableNeedDrain',
    (_, response) => response.end(Buffer.alloc(4096)),
    async (sender) => {
      const sink = new PassThrough()
      Object.defineProperty(sink, 'writableNeedDrain', { value: undefined })
      while (sink.write(Buffer.alloc(4096)));
      const { write } = sink
      let early = 0
      sink.write = () => {
        early++
        return false
      }
      await sender.stream({ path: '/', method: 'GET' }, () => {
        setImmediate(() => {
          sink.write = write
          sink.resume()
        })
        return sink
      })
      return early
    },
  ],
  [
    'pipeline(): a stream without pause()',
    (_, response) => response.end(Buffer.alloc(100_000)),
    async (sender) => {
      const duplex = sender.pipeline({ path: '/', method: 'GET' }, ({ body }: { body: PassThrough }) =>
        body.pipe(Object.assign(new PassThrough(), { pause: null })),
      )
      let size = 0
      duplex.on('data', (chunk: Buffer) => {
        size += chunk.length
      })
      duplex.end()
      await once(duplex, 'end')
      return size
    },
  ],
  [
    'pipeline(): a stream behind the body that is destroyed',
    (_, response) => response.write('half'),
    (sender) => {
      const duplex = sender.pipeline({ path: '/', method: 'GET' }, ({ body }: { body: PassThrough }) => {
        const through = new PassThrough()
        setImmediate(() => through.destroy())
        return pipeline(body, through, () => {})
      })
      duplex.end().resume()
      return outcome(() => once(duplex, 'end'))
    },
  ],
]

it.each(STREAMS)('%s', async (_what, listener, play) => {
  const origin = await serve(listener)
  const [first, second] = [MAKERS.Client.theirs(origin), MAKERS.Client.ours(origin)]
  const expected = await play(first)
  await first.destroy()
  expect(await play(second)).toEqual(expected)
  await second.destroy()
})
