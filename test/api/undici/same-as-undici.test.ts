/** What programs compare, and what they build on, in `dodici/undici`: each scene is played on undici, too. */

import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { RequestListener } from 'node:http'
import { createServer } from 'node:http'
import type { Readable } from 'node:stream'
import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import * as theirs from 'undici'
import { describe, expect, it, onTestFinished } from 'vitest'
import * as entry from '../../../src/undici/all.ts'
import { destroyWithTest } from '../../support/clients/agents.ts'
import { listen } from '../../support/servers/listen.ts'

/** The scenes use what both have: the types of both say more, and not the same. */
type Library = typeof theirs

const ours = entry as unknown as Library

async function serve(listener: RequestListener): Promise<string> {
  const { port } = await listen(createServer(listener))
  return `http://127.0.0.1:${port}`
}

async function toError(call: () => unknown): Promise<Error & { code?: string }> {
  try {
    await call()
  } catch (thrown) {
    return thrown as Error
  }
  throw new Error('It succeeded')
}

describe('an error that is made without a message', () => {
  // These have other constructors, or none in undici.
  const SPECIAL = new Set([
    'HTTPParserError',
    'RequestRetryError',
    'ResponseError',
    'MessageSizeExceededError',
  ])
  const names = Object.keys(theirs.errors).filter((name) => !SPECIAL.has(name))

  it.each(names)("has undici's: %s", (name) => {
    const [own, other] = [ours, theirs].map(({ errors }) => {
      const { message, code }: { message: string; code?: unknown } = Reflect.construct(
        Reflect.get(errors, name),
        [],
      )
      return { message, code }
    })
    expect(own).toEqual(other)
  })
})

const FETCHES: readonly (readonly [what: string, play: (library: Library) => Promise<unknown>])[] = [
  ['name and length', async ({ fetch }) => [fetch.name, fetch.length]],
  [
    'a body that was read',
    async ({ fetch }) => {
      const response = await fetch(await serve((_request, response) => response.end('text')))
      await response.text()
      return (await toError(() => response.text())).message
    },
  ],
  [
    'too many codings',
    async ({ fetch }) => {
      const codings = Array(6).fill('identity').join(', ')
      const origin = await serve((_request, response) => {
        response.writeHead(200, { 'content-encoding': codings }).end('text')
      })
      const { message, cause } = await toError(() => fetch(origin))
      return [message, (cause as Error).message.replace(/\d+,/, 'n,')]
    },
  ],
  [
    'about:',
    async ({ fetch }) => {
      const { message, cause } = await toError(() => fetch('about:blank'))
      return [message, (cause as Error).message]
    },
  ],
  [
    'a stack that leads to the caller',
    async ({ fetch }) => {
      const { stack } = await toError(async () => await fetch('http://127.0.0.1:1'))
      return stack?.includes('same-as-undici.test.ts')
    },
  ],
  [
    "a signal's reason, which stays as it is",
    async ({ fetch }) => {
      const reason = new Error('mine')
      const thrown = await toError(() => fetch('http://127.0.0.1:1', { signal: AbortSignal.abort(reason) }))
      return thrown === reason
    },
  ],
]

describe('fetch()', () => {
  it.each(FETCHES)("is undici's: %s", async (_what, play) => {
    expect(await play(ours)).toEqual(await play(theirs))
  })
})

describe('a Pool with a factory', () => {
  async function play({ Pool, Client }: Library) {
    const origin = await serve((_request, response) => response.end('hello'))
    let made = 0
    const pool = destroyWithTest(
      new Pool(origin, {
        connections: 1,
        factory: (url, options) => {
          made++
          return new Client(url, options)
        },
      }),
    )
    const { body } = await pool.request({ path: '/', method: 'GET' })
    const text = await body.text()
    return { text, made, isPool: pool instanceof Pool, isOfSubclass: pool instanceof class extends Pool {} }
  }

  it('sends requests through the clients that the factory makes', async () => {
    const outcome = await play(ours)
    expect(outcome).toEqual({ text: 'hello', made: 1, isPool: true, isOfSubclass: false })
    expect(outcome).toEqual(await play(theirs))
  })

  it.each(['', 5, {}])('refuses a factory that is none: %j', async (factory) => {
    const make = ({ Pool }: Library) => toError(() => new Pool('http://localhost', { factory } as object))
    const { code, message } = await make(ours)
    expect({ code, message }).toEqual({ code: 'UND_ERR_INVALID_ARG', message: 'factory must be a function.' })
    expect(await make(theirs)).toMatchObject({ code, message })
  })

  it.each([undefined, null])('is one of ours without one: %j', (factory) => {
    const pool = new entry.Pool('http://localhost', { factory } as object)
    onTestFinished(() => pool.destroy())
    expect(pool).toBeInstanceOf(entry.Pool)
    expect(Reflect.get(pool, 'origin')).toBe('http://localhost')
  })
})

it('names no server for TLS where there is none', async () => {
  const names: unknown[] = []
  const listen = (message: unknown): void => {
    names.push((message as { connectParams: { servername: unknown } }).connectParams.servername)
  }
  subscribe('undici:client:beforeConnect', listen)
  onTestFinished(() => void unsubscribe('undici:client:beforeConnect', listen))
  const origin = await serve((_request, response) => response.end('hello'))
  for (const { Client } of [ours, theirs]) {
    const client = destroyWithTest(new Client(origin))
    await (await client.request({ path: '/', method: 'GET' })).body.text()
  }
  expect(names).toEqual([null, null])
})

describe("a dispatcher that other code has set with undici's own function", () => {
  type Play = (library: Library, origin: string) => Promise<unknown>

  const PLAYS: readonly (readonly [what: string, play: Play])[] = [
    ['request(url)', async ({ request }, origin) => (await request(`${origin}/a`)).body.text()],
    [
      'request() of one argument',
      async ({ request }, origin) => {
        const options = { origin, path: '/a', method: 'POST', headers: { 'x-a': '1' }, body: 'text' } as const
        return (await request(options as unknown as string)).body.text()
      },
    ],
    [
      'stream() without options',
      async ({ stream }, origin) => {
        const target = new PassThrough()
        await Reflect.apply(stream, null, [`${origin}/a`, () => target])
        return text(target)
      },
    ],
    [
      'pipeline() without options',
      async ({ pipeline }, origin) => {
        const toBody = ({ body }: { readonly body: Readable }): Readable => body
        return text(Reflect.apply(pipeline, null, [`${origin}/a`, toBody]).end())
      },
    ],
    ['fetch(url)', async ({ fetch }, origin) => (await fetch(`${origin}/a`)).text()],
    [
      'fetch() of an init with inherited members',
      async ({ fetch }, origin) => {
        class Init {
          get method(): string {
            return 'PUT'
          }
        }
        return (await fetch(`${origin}/a`, new Init())).text()
      },
    ],
  ]

  it.each(PLAYS)('serves %s', async (_what, play) => {
    const origin = await serve(async (request, response) => {
      const { method, url, headers } = request
      response.end(`${method} ${url} ${headers['x-a']} ${headers['x-seen']} ${await text(request)}`)
    })
    const before = theirs.getGlobalDispatcher()
    const agent = destroyWithTest(new theirs.Agent())
    const composed = agent.compose((dispatch) => (options, handler) => {
      const headers = { ...(options.headers as object), 'x-seen': 'yes' }
      return dispatch({ ...options, headers }, handler)
    })
    theirs.setGlobalDispatcher(composed)
    onTestFinished(() => theirs.setGlobalDispatcher(before))
    const outcome = await play(ours, origin)
    expect(outcome).toContain(' yes ')
    expect(outcome).toBe(await play(theirs, origin))
  })
})
