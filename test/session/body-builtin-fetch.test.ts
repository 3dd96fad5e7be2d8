import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { createServer, request as requestHttp1 } from 'node:http'
import { Readable } from 'node:stream'
import { setImmediate as turn } from 'node:timers/promises'
import { afterEach, describe, expect, it, onTestFinished } from 'vitest'
import { Agent, install, uninstall } from '../../src/index.ts'
import { destroyWithTest } from '../support/clients/agents.ts'
import type { EarlyRoute, Ending, Moment } from '../support/servers/early-server.ts'
import { EARLY_ROUTES, MOMENTS, TEXT, toPath } from '../support/servers/early-server.ts'
import { listen } from '../support/servers/listen.ts'

const PIECE = Buffer.alloc(16_384, 'x')
/** In the middle of the body, for a server, is well below. */
const PIECES = 8
/** Far above what any server of the test takes. A source that never waits would otherwise keep the process for itself. */
const TOO_MANY = 5_000
/** What the buffers of a Readable, of its web stream, and of the copy that fetch makes by `tee()` may still ask for. */
const AHEAD = 8
/** A source that was read on would have given a piece in most of them. */
const TURNS = 100

/** Makes pieces, and counts them. */
class Pieces {
  count = 0
  readonly #end: number

  constructor(isEndless: boolean) {
    this.#end = isEndless ? TOO_MANY : PIECES
  }

  /** Null at the end. */
  make(): Uint8Array | null {
    this.count++
    return this.count > this.#end ? null : new Uint8Array(PIECE)
  }
}

type Wait = () => Promise<unknown> | undefined

const never = (): undefined => undefined
const later = (): Promise<unknown> => turn()

function toWebStream(pieces: Pieces, wait: Wait): ReadableStream<Uint8Array> {
  return new ReadableStream(
    {
      async pull(controller) {
        await wait()
        const piece = pieces.make()
        if (piece === null) controller.close()
        else controller.enqueue(piece)
      },
    },
    { highWaterMark: 0 },
  )
}

async function* generate(pieces: Pieces, wait: Wait): AsyncGenerator<Uint8Array> {
  for (;;) {
    await wait()
    const piece = pieces.make()
    if (piece === null) return
    yield piece
  }
}

/** What fetch takes as a body that is no bytes. */
interface Source {
  readonly name: string
  /** Whether it has an end, at which fetch has read all of it. */
  readonly isBounded?: true
  make(pieces: Pieces): unknown
}

const SOURCES: readonly Source[] = [
  { name: 'a web stream that never waits', make: (pieces) => toWebStream(pieces, never) },
  { name: 'a web stream that takes a turn for each piece', make: (pieces) => toWebStream(pieces, later) },
  { name: 'an async generator that never waits', make: (pieces) => generate(pieces, never) },
  {
    name: 'an async generator that takes a turn for each piece',
    make: (pieces) => generate(pieces, later),
  },
  {
    name: 'an async iterable',
    make: (pieces) => ({ [Symbol.asyncIterator]: () => generate(pieces, later) }),
  },
  { name: 'a Readable', make: (pieces) => Readable.from(generate(pieces, later)) },
  {
    name: 'the web stream of a Readable',
    make: (pieces) => Readable.toWeb(Readable.from(generate(pieces, later))),
  },
  {
    name: 'a Blob',
    isBounded: true,
    make: () => new Blob(Array.from({ length: PIECES }, () => PIECE)),
  },
  {
    name: 'a File in a form',
    isBounded: true,
    make: () => {
      const form = new FormData()
      form.set(
        'file',
        new File(
          Array.from({ length: PIECES }, () => PIECE),
          'file',
        ),
      )
      return form
    },
  },
]

async function call(url: string, body: unknown): Promise<string> {
  const init = { method: 'POST', body, duplex: 'half' } as RequestInit
  const response = await globalThis.fetch(url, init)
  return `${response.status} ${await response.text()}`
}

async function settle(outcome: Promise<string>): Promise<unknown> {
  try {
    return await outcome
  } catch (error) {
    return error
  }
}

function checkOutcome(outcome: unknown, { isResponse }: Ending): void {
  if (isResponse) expect(outcome).toBe(`413 ${TEXT}`)
  else expect(outcome).toBeInstanceOf(TypeError)
}

/** Plays a call for each moment and ending, each on a connection of its own. */
async function playAll(
  { endings, options, start }: EarlyRoute,
  moments: readonly Moment[],
  play: (url: string, moment: Moment, ending: Ending) => Promise<void>,
): Promise<void> {
  const origin = await start()
  for (const moment of moments) {
    for (const ending of endings) {
      const agent = destroyWithTest(new Agent(options))
      install(agent)
      try {
        await play(`${origin}${toPath(moment, ending)}`, moment, ending)
      } catch (thrown) {
        throw new Error(`${moment}: ${ending.name}: ${String(thrown)}`, { cause: thrown })
      }
      await agent.destroy()
    }
  }
}

afterEach(uninstall)

describe.each(EARLY_ROUTES)('a body that the built-in fetch sends, on $name', (route) => {
  it.each(SOURCES)('$name › is read no further once the call has ended', async ({ make, isBounded }) => {
    await playAll(route, MOMENTS, async (url, moment, ending) => {
      const pieces = new Pieces(moment !== 'after')
      const outcome = await settle(call(url, make(pieces)))
      checkOutcome(outcome, ending)
      if (isBounded === true) return
      const { count } = pieces
      for (let turns = 0; turns < TURNS; turns++) await turn()
      expect(pieces.count - count).toBeLessThanOrEqual(AHEAD)
      expect(pieces.count).toBeLessThan(TOO_MANY)
    })
  })

  it('a source that gives no more › the failure is told all the same', async () => {
    await playAll(route, ['before', 'within'], async (url, _moment, ending) => {
      const pieces = new Pieces(true)
      const stalled = new Promise<void>(() => {})
      const wait = (): Promise<void> | undefined => (pieces.count < PIECES ? undefined : stalled)
      checkOutcome(await settle(call(url, toWebStream(pieces, wait))), ending)
    })
  })

  it('the web stream of a request that a server has got › the server can respond', async () => {
    await playAll(route, MOMENTS, async (url, moment, ending) => {
      const proxy = createServer((request, response) => {
        settle(call(url, Readable.toWeb(request))).then((outcome) => {
          checkOutcome(outcome, ending)
          response.writeHead(typeof outcome === 'string' ? 413 : 502).end()
        })
      })
      onTestFinished(() => void proxy.closeAllConnections())
      const { port } = await listen(proxy)
      const upload = requestHttp1({ port, host: '127.0.0.1', method: 'POST' })
      let given = 0
      const write = (): void => {
        given++
        if (upload.destroyed) return
        if (moment === 'after' && given > PIECES) upload.end()
        else if (upload.write(PIECE)) setImmediate(write)
        else upload.once('drain', write)
      }
      write()
      const [response] = (await once(upload, 'response')) as [IncomingMessage]
      expect(response.statusCode).toBe(ending.isResponse ? 413 : 502)
      upload.on('error', () => {}).destroy()
      proxy.closeAllConnections()
      proxy.close()
    })
  })
})
