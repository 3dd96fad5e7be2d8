import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { describe, expect, it, onTestFinished } from 'vitest'
import { Agent, Client, errors, Pool, UpstreamPool } from '../../src/index.ts'
import type { CloseOptions, Dispatcher, DispatcherComposeInterceptor } from '../../types/index.ts'
import { destroyWithTest } from '../support/clients/agents.ts'
import { runNode } from '../support/clients/child.ts'
import { Recorder } from '../support/clients/recorder.ts'
import type { TestServer } from '../support/servers/server.ts'
import { serveHello, startServer } from '../support/servers/server.ts'

const GET = { path: '/', method: 'GET' } as const
/** A deadline that passes in any case. */
const SOON = 1
/** A deadline that never passes: the test would have failed by then. */
const LATE = 2 ** 31 - 1

type Living = Client | Pool | Agent

const pass: DispatcherComposeInterceptor = (dispatch) => (options, handler) => dispatch(options, handler)

const MAKERS: [string, (origin: string) => Living][] = [
  ['a Client', (origin) => new Client(origin)],
  ['a Pool', (origin) => new Pool(origin)],
  ['an Agent', () => new Agent({ h2c: true })],
]

/** A server whose responses wait until `release()` is called. */
async function startGate() {
  const held: (() => void)[] = []
  const server = await startServer((stream) => {
    stream.respond({ ':status': 200 })
    stream.write('hel')
    held.push(() => stream.end('lo'))
  })
  const release = (): void => {
    for (const end of held) end()
  }
  return { server, release }
}

/** With two calls: the server holds one, and has begun the response to the other. */
async function begin(make: (origin: string) => Living, server: TestServer) {
  const dispatcher = make(server.origin)
  onTestFinished(() => dispatcher.destroy())
  const { body } = await dispatcher.request({ ...GET, origin: server.origin })
  const text = body.text()
  text.catch(() => {})
  return { dispatcher, text }
}

/** close() as JavaScript may call it: with any argument. */
function close(dispatcher: Living, options: unknown): Promise<void> {
  return Reflect.apply(dispatcher.close, dispatcher, [options])
}

describe.each(MAKERS)('close() of %s', (_name, make) => {
  it('with a timeout lets calls finish within it, and settles then', async () => {
    const { server, release } = await startGate()
    const { dispatcher, text } = await begin(make, server)
    const closing = dispatcher.close({ timeout: LATE })
    expect([dispatcher.closed, dispatcher.destroyed]).toEqual([true, false])
    await expect(dispatcher.request({ ...GET, origin: server.origin })).rejects.toBeInstanceOf(
      errors.ClientClosedError,
    )
    release()
    expect(await text).toBe('hello')
    await closing
    expect(dispatcher.destroyed).toBe(true)
  })

  it('destroys what is left after the timeout: calls fail, connections close, and close() settles', async () => {
    const { server } = await startGate()
    const { dispatcher, text } = await begin(make, server)
    const [session] = server.sessions
    const gone = session === undefined ? null : once(session, 'close')
    await dispatcher.close({ timeout: SOON })
    await expect(text).rejects.toBeInstanceOf(errors.ClientDestroyedError)
    expect(dispatcher.destroyed).toBe(true)
    await gone
    await expect(dispatcher.request({ ...GET, origin: server.origin })).rejects.toBeInstanceOf(
      errors.ClientDestroyedError,
    )
  })

  it.each([
    undefined,
    {},
    { timeout: 0 },
    { timeout: null },
    { timeout: undefined },
  ])('waits for ever with %j', async (options) => {
    const { server, release } = await startGate()
    const { dispatcher, text } = await begin(make, server)
    const order: string[] = []
    const closing = close(dispatcher, options).then(() => order.push('closed'))
    const responded = text.then(() => order.push('responded'))
    // Round trips in which a deadline of a millisecond would have come.
    for (let trip = 0; trip < 20; trip++) await roundTrip(server)
    expect(order).toEqual([])
    release()
    await Promise.all([responded, closing])
    expect(order).toEqual(['responded', 'closed'])
  })

  it.each([
    [{ timeout: -1 }, 'timeout: got -1'],
    [{ timeout: Number.NaN }, 'timeout: got NaN'],
    [{ timeout: Number.POSITIVE_INFINITY }, 'timeout: got Infinity'],
    [{ timeout: 2 ** 31 }, 'timeout: got 2147483648'],
    [{ timeout: '5' }, 'timeout: got "5"'],
    [5, 'options: got 5'],
    [null, 'options: got null'],
    ['now', 'options: got "now"'],
  ])('refuses %j, and stays open', async (options, message) => {
    const { server, release } = await startGate()
    const { dispatcher, text } = await begin(make, server)
    expect(() => close(dispatcher, options)).toThrow(errors.InvalidArgumentError)
    expect(() => close(dispatcher, options)).toThrow(message)
    expect(dispatcher.closed).toBe(false)
    release()
    expect(await text).toBe('hello')
  })

  it.each([
    { what: 'a shorter deadline may follow a longer one', timeouts: [LATE, SOON] },
    { what: 'a longer one does not put a shorter one off', timeouts: [SOON, LATE] },
    { what: 'a deadline may follow none', timeouts: [0, SOON] },
    { what: 'none does not take a deadline back', timeouts: [SOON, 0] },
  ])('called twice: $what', async ({ timeouts }) => {
    const { server } = await startGate()
    const { dispatcher, text } = await begin(make, server)
    await Promise.all(timeouts.map((timeout) => dispatcher.close({ timeout })))
    await expect(text).rejects.toBeInstanceOf(errors.ClientDestroyedError)
    expect(dispatcher.destroyed).toBe(true)
  })

  it('settles at once when the dispatcher was never used, and when it is closed already', async () => {
    const dispatcher = make('http://127.0.0.1:1')
    const options: CloseOptions = { timeout: LATE }
    await dispatcher.close(options)
    await dispatcher.close({ timeout: SOON })
    await dispatcher.destroy()
    await dispatcher.close({ timeout: SOON })
    expect(dispatcher.destroyed).toBe(true)
  })

  it('has its timeout through compose(), too', async () => {
    const { server } = await startGate()
    const { dispatcher, text } = await begin(make, server)
    await dispatcher.compose(pass).close({ timeout: SOON })
    await expect(text).rejects.toBeInstanceOf(errors.ClientDestroyedError)
    expect(dispatcher.destroyed).toBe(true)
  })

  it('ends a connection attempt after the timeout', async () => {
    const dispatcher = destroyWithTest(new Agent({ h2c: true, connect: () => new Promise(() => {}) }))
    const failed = expect(dispatcher.request({ ...GET, origin: 'http://127.0.0.1:1' })).rejects.toMatchObject(
      {
        code: 'UND_ERR_DESTROYED',
        processed: 'no',
      },
    )
    await dispatcher.close({ timeout: SOON })
    await failed
  })
})

describe('close() over a dispatcher of a factory whose own close() never settles', () => {
  const MADE: [string, (factory: () => Dispatcher) => Agent | UpstreamPool][] = [
    ['an Agent', (factory) => new Agent({ factory })],
    ['an UpstreamPool', (factory) => new UpstreamPool('http://a.example', { factory })],
  ]

  class Stuck extends Client {
    override close(options?: CloseOptions): Promise<void>
    override close(callback: () => void): void
    override close(): Promise<void> {
      return new Promise(() => {})
    }
  }

  class Failing extends Stuck {
    override destroy(): Promise<void>
    override destroy(error: Error | null): Promise<void>
    override destroy(callback: () => void): void
    override destroy(error: Error | null, callback: () => void): void
    override async destroy(): Promise<void> {
      throw new Error('of the factory')
    }
  }

  function open(make: (typeof MADE)[number][1], Made: typeof Client): Agent | UpstreamPool {
    const dispatcher = make(() => new Made('http://a.example', { connect: () => new Promise(() => {}) }))
    dispatcher.dispatch({ ...GET, origin: 'http://a.example' }, new Recorder())
    return dispatcher
  }

  it.each(MADE)('settles after its timeout: %s', async (_name, make) => {
    const dispatcher = open(make, Stuck)
    await dispatcher.close({ timeout: SOON })
    expect(dispatcher.destroyed).toBe(true)
  })

  it.each(MADE)('settles after destroy(): %s', async (_name, make) => {
    const dispatcher = open(make, Stuck)
    const closing = dispatcher.close()
    await dispatcher.destroy()
    await closing
  })

  it.each(
    MADE,
  )('fails after its timeout as the destroy() of that dispatcher does: %s', async (_name, make) => {
    const dispatcher = open(make, Failing)
    await expect(dispatcher.close({ timeout: SOON })).rejects.toThrow('of the factory')
  })
})

async function roundTrip({ sessions }: TestServer): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    sessions[0]?.ping((error) => (error === null ? resolve() : reject(error)))
  })
}

describe('a process that has closed with a timeout', () => {
  it('ends when its last request has ended, not at the deadline', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'dodici-deadline-'))
    onTestFinished(() => rm(folder, { recursive: true, force: true }))
    const script = join(folder, 'deadline.mjs')
    await build({
      entryPoints: [fileURLToPath(new URL('../process/children/deadline.ts', import.meta.url))],
      outfile: script,
      bundle: true,
      format: 'esm',
      platform: 'node',
      target: 'node20',
    })
    const { origin } = await startServer(serveHello)
    const { code, stdout, stderr } = await runNode(script, origin)
    expect(stderr).toBe('')
    expect([
      code,
      ...stdout
        .trimEnd()
        .split('\n')
        .map((line): unknown => JSON.parse(line)),
    ]).toEqual([0, { text: 'hello' }, { isDestroyed: true }])
  })
})
