import { createServer } from 'node:net'
import { performance } from 'node:perf_hooks'
import { setImmediate } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { Client, errors } from '../../src/index.ts'
import type { ConnectionScript } from '../../src/testing/fault-connection.ts'
import type { FaultServerOptions } from '../../src/testing/fault-options.ts'
import type { FaultStream } from '../../src/testing/fault-stream.ts'
import type { ClientOptions, DispatchOptions } from '../../types/index.ts'
import { destroyWithTest } from '../support/clients/agents.ts'
import { ENGINES } from '../support/clients/engines.ts'
import { Recorder } from '../support/clients/recorder.ts'
import { startPeer } from '../support/peers/peer-rig.ts'
import { listen } from '../support/servers/listen.ts'
import { toCertificate } from '../support/servers/server.ts'

/** Of the limit that a test is about. Milliseconds. */
const LIMIT = 500

/** Longer than the limit. Milliseconds. */
const BUSY = LIMIT + 50

/** Longer than the limit by as much as a TLS handshake with a server of the same process may need. Milliseconds. */
const BUSY_CONNECTING = 2 * LIMIT

const GET = { path: '/', method: 'GET' } as const

/**
 * Keeps the process busy, so that no timer runs and nothing is read. Called in the phase of the event loop that
 * `setImmediate()` leads to: the timers come next, then what waits to be read, then that phase again.
 */
function keepBusy(time = BUSY): void {
  const end = performance.now() + time
  while (performance.now() < end);
}

/** What runs in the turn of the event loop that comes next has run then. */
async function twoTurns(): Promise<void> {
  await setImmediate()
  await setImmediate()
}

describe.each(ENGINES)('a process that is busy for longer than a limit, on engine %s', (engine) => {
  /** A call over an open connection, with this limit, whose request has come to the peer. */
  async function start(limit: Pick<DispatchOptions, 'headersTimeout' | 'requestTimeout' | 'bodyTimeout'>) {
    const streams: FaultStream[] = []
    const script: ConnectionScript = {
      onComplete: (stream) => void (stream.path === '/first' ? stream.respond() : streams.push(stream)),
    }
    const peer = await startPeer(script)
    const client = destroyWithTest(new Client(peer.origin, { engine }))
    await (await client.request({ ...GET, path: '/first' })).body.dump()
    const call = new Recorder()
    client.dispatch({ ...GET, ...limit }, call)
    const stream = await peer.waitFor(() => streams[0])
    await setImmediate()
    return { call, stream }
  }

  describe.each([
    { limit: 'headersTimeout', error: errors.HeadersTimeoutError },
    { limit: 'requestTimeout', error: errors.RequestTimeoutError },
  ] as const)('of $limit', ({ limit, error }) => {
    it('gives the call a response that has come meanwhile', async () => {
      const { call, stream } = await start({ [limit]: LIMIT })
      stream.respond({ body: 'in time' })
      keepBusy()
      await call.settled
      expect([call.errors, call.text]).toEqual([[], 'in time'])
    })

    it('fails the call in the next turn of the event loop when no response has come', async () => {
      const { call } = await start({ [limit]: LIMIT })
      keepBusy()
      expect(call.errors).toEqual([])
      await twoTurns()
      expect(call.error).toBeInstanceOf(error)
    })
  })

  describe('of bodyTimeout', () => {
    it.each([
      { what: 'the end', rest: '' },
      { what: 'the rest', rest: 'the rest' },
    ])('gives the call $what of a body that has come meanwhile', async ({ rest }) => {
      const { call, stream } = await start({ bodyTimeout: LIMIT })
      stream.head(200)
      stream.data('first ')
      await expect.poll(() => call.text).toBe('first ')
      await setImmediate()
      stream.end(rest)
      keepBusy()
      await call.settled
      expect([call.errors, call.text]).toEqual([[], `first ${rest}`])
    })

    it('fails the call in the next turn of the event loop when nothing has come', async () => {
      const { call, stream } = await start({ bodyTimeout: LIMIT })
      stream.head(200)
      stream.data('first ')
      await expect.poll(() => call.text).toBe('first ')
      await setImmediate()
      keepBusy()
      expect(call.errors).toEqual([])
      await twoTurns()
      expect(call.error).toBeInstanceOf(errors.BodyTimeoutError)
    })
  })

  describe('of connectTimeout', () => {
    /** A call whose connection is made while the process is busy. */
    async function dispatch(origin: string, connect: ClientOptions['connect'] = {}) {
      const client = destroyWithTest(new Client(origin, { engine, connectTimeout: LIMIT, connect }))
      const call = new Recorder()
      client.dispatch(GET, call)
      await Promise.resolve()
      keepBusy(BUSY_CONNECTING)
      return call
    }

    async function connect(options: FaultServerOptions = {}, connect: ClientOptions['connect'] = {}) {
      const peer = await startPeer({ onComplete: (stream) => stream.respond({ body: 'connected' }) }, options)
      const call = await dispatch(peer.origin, connect)
      await call.settled
      expect([call.errors, call.text, peer.connections.length]).toEqual([[], 'connected', 1])
    }

    it('connects over TCP', () => connect())

    it('connects over TLS', async () => {
      const { private: key, cert } = await toCertificate()
      await connect({ key, cert }, { ca: cert })
    })

    it('fails the call when the peer does not finish the handshake in as much time again', async () => {
      const { port } = await listen(createServer())
      const start = performance.now()
      const call = await dispatch(`https://127.0.0.1:${port}`)
      await call.settled
      expect(call.error).toBeInstanceOf(errors.ConnectTimeoutError)
      expect(performance.now() - start).toBeGreaterThan(BUSY_CONNECTING + LIMIT - 1)
    })
  })
})
