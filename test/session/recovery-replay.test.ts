import { Readable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import type { ConnectionScript } from '../../src/testing/fault-connection.ts'
import type { FaultStream } from '../../src/testing/fault-stream.ts'
import type { DispatchOptions, PoolOptions } from '../../types/index.ts'
import { ENGINES } from '../support/clients/engines.ts'
import { REFUSED_STREAM } from '../support/peers/error-codes.ts'
import { ask, SERVE, startHarness, startPeer, toOutcomes } from '../support/peers/peer-rig.ts'

const lost = (processed: string, attempts = 1) =>
  `SocketError ${processed} code=null attempts=${attempts} stream=1`

describe.each(ENGINES)('a call whose connection is lost, on engine %s', (engine) => {
  const options: PoolOptions = { engine, connections: 1 }

  /** Loses the connection at its first whole request, when it has done something. */
  function dyingAfter(act: (stream: FaultStream) => void = () => {}): ConnectionScript {
    return {
      onComplete: (stream, connection) => {
        act(stream)
        // Once the client has heard of that.
        void connection.ping().then(() => connection.break())
      },
    }
  }

  describe('before any part of a response', () => {
    const REPLAYED: { what: string; request: Partial<DispatchOptions> & { method: string } }[] = [
      { what: 'a GET', request: { method: 'GET' } },
      { what: 'a POST that is idempotent', request: { method: 'POST', body: 'body', idempotent: true } },
      {
        what: 'an idempotent POST with a body made by a function',
        request: { method: 'POST', body: () => Readable.from(['body']), idempotent: true },
      },
    ]

    it.each(REPLAYED)('$what is replayed, once, with its body', async ({ request }) => {
      const peer = await startPeer([
        dyingAfter(),
        {
          onComplete: (stream) => {
            stream.head(200)
            stream.end()
          },
        },
      ])
      const harness = startHarness(peer, options)
      const call = ask(harness, `${request.method} /`, request)
      await call.settled
      expect(call.errors).toEqual([])
      expect(call.events[0]).toBe('start')
      expect(call.events.filter((event) => event === 'start')).toHaveLength(1)
      expect(peer.ledger).toEqual([`0/1 ${request.method} /`, `1/1 ${request.method} /`])
      const [first, second] = peer.requests
      expect(second?.text).toBe(first?.text)
      expect(second?.fields).toEqual(first?.fields)
    })

    const FAILED: typeof REPLAYED = [
      { what: 'a POST', request: { method: 'POST', body: 'body' } },
      { what: 'a GET that is not idempotent', request: { method: 'GET', idempotent: false } },
      {
        what: 'a GET with a stream for a body',
        request: { method: 'GET', body: Readable.from(['body']) },
      },
    ]

    it.each(FAILED)('$what fails as maybe processed, and is seen once', async ({ request }) => {
      const peer = await startPeer([dyingAfter(), SERVE])
      const harness = startHarness(peer, options)
      expect(await toOutcomes([ask(harness, `${request.method} /`, request)])).toEqual([lost('maybe')])
      expect(await toOutcomes([ask(harness, 'GET /next')])).toEqual(['GET /next'])
      expect(peer.ledger).toEqual([`0/1 ${request.method} /`, '1/1 GET /next'])
    })

    it('a GET with replaySafe: false fails as maybe processed, and is seen once', async () => {
      const peer = await startPeer([dyingAfter(), SERVE])
      const harness = startHarness(peer, { ...options, replaySafe: false })
      expect(await toOutcomes([ask(harness, 'GET /')])).toEqual([lost('maybe')])
      expect(peer.ledger).toEqual(['0/1 GET /'])
    })

    it('a tunnel fails, and is requested once', async () => {
      const peer = await startPeer([
        { onRequest: (_stream, connection) => void connection.ping().then(() => connection.break()) },
        SERVE,
      ])
      const harness = startHarness(peer, options)
      const call = ask(harness, 'CONNECT example.com:443', { idempotent: true })
      expect(await toOutcomes([call])).toEqual([lost('maybe')])
      expect(peer.requests).toHaveLength(1)
    })
  })

  it('a second time fails, with both attempts on its error', async () => {
    const peer = await startPeer([dyingAfter(), dyingAfter(), SERVE])
    const harness = startHarness(peer, options)
    expect(await toOutcomes([ask(harness, 'GET /')])).toEqual([lost('maybe', 2)])
    expect(peer.ledger).toEqual(['0/1 GET /', '1/1 GET /'])
  })

  it('after it was refused is replayed for either reason', async () => {
    let isRefused = false
    const peer = await startPeer([
      {
        onComplete: (stream, connection) => {
          if (isRefused) connection.break()
          else stream.reset(REFUSED_STREAM)
          isRefused = true
        },
      },
      SERVE,
    ])
    const harness = startHarness(peer, options)
    expect(await toOutcomes([ask(harness, 'GET /')])).toEqual(['GET /'])
    expect(peer.ledger).toEqual(['0/1 GET /', '0/3 GET /', '1/1 GET /'])
  })

  describe('after a part of the response', () => {
    it.each<{ what: string; act: (stream: FaultStream) => void; processed: string }>([
      { what: 'its header', act: (stream) => stream.head(200), processed: 'yes' },
      {
        what: 'its header and some data',
        act: (stream) => {
          stream.head(200)
          stream.data('half')
        },
        processed: 'yes',
      },
    ])('$what fails a GET as processed, and it is seen once', async ({ act, processed }) => {
      const peer = await startPeer([dyingAfter(act), SERVE])
      const harness = startHarness(peer, options)
      const call = ask(harness, 'GET /')
      expect(await toOutcomes([call])).toEqual([lost(processed)])
      expect(call.statuses).toEqual([200])
      expect(peer.ledger).toEqual(['0/1 GET /'])
    })

    it('an informational one fails a GET, and it is seen once', async () => {
      const peer = await startPeer([dyingAfter((stream) => stream.head(103, [['link', '</a>']])), SERVE])
      const harness = startHarness(peer, options)
      const call = ask(harness, 'GET /')
      await call.settled
      expect(call.error).toMatchObject({ name: 'SocketError', attempts: 1, streamId: 1 })
      expect(Object(call.error).processed).not.toBe('no')
      expect(peer.ledger).toEqual(['0/1 GET /'])
    })
  })
})
