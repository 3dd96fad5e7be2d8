import { Readable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { errors } from '../../src/index.ts'
import type { ConnectionScript } from '../../src/testing/fault-connection.ts'
import type { FaultStream } from '../../src/testing/fault-stream.ts'
import { ERROR_CODES } from '../../src/testing/frames.ts'
import type { PoolOptions } from '../../types/index.ts'
import { ENGINES } from '../support/clients/engines.ts'
import { NO_ERROR, REFUSED_STREAM } from '../support/peers/error-codes.ts'
import { ask, SERVE, startHarness, startPeer, toOutcomes } from '../support/peers/peer-rig.ts'

/** One that no RFC knows. */
const UNKNOWN = 0xbad

const ALL = [...ERROR_CODES.map((name, code) => ({ name, code })), { name: '0xbad', code: UNKNOWN }]
const FINAL = ALL.filter(({ code }) => code !== REFUSED_STREAM)

describe.each(ENGINES)('a peer that resets a stream, on engine %s', (engine) => {
  const options: PoolOptions = { engine, connections: 1 }

  /** Does something to the first request of `/bad`, and responds to everything else. */
  function onFirst(act: (stream: FaultStream) => void): ConnectionScript {
    let isDone = false
    return {
      // Credit for a body would contradict REFUSED_STREAM.
      grantsCredit: false,
      onComplete: (stream) => {
        if (stream.path !== '/bad' || isDone) {
          stream.respond()
        } else {
          isDone = true
          act(stream)
        }
      },
    }
  }

  describe('before a response', () => {
    it.each(FINAL)('with $name: a call of any method fails as maybe processed, and is seen once', async ({
      name,
      code,
    }) => {
      const peer = await startPeer({
        onComplete: (stream) => (stream.path === '/bad' ? stream.reset(code) : stream.respond()),
      })
      const harness = startHarness(peer, options)
      const bad = ['GET', 'POST', 'DELETE'].map((method) => ask(harness, `${method} /bad`))
      const sibling = ask(harness, 'GET /sibling')
      const failure = (stream: number) => `StreamError maybe code=${code} attempts=1 stream=${stream}`
      const outcomes = await toOutcomes([...bad, sibling])
      expect(outcomes).toEqual([failure(1), failure(3), failure(5), 'GET /sibling'])
      for (const { error } of bad) {
        expect(error).toBeInstanceOf(errors.StreamError)
        if (code !== 0) expect(error.message).toContain(name)
      }
      // The session is as good as before.
      expect(await toOutcomes([ask(harness, 'POST /next')])).toEqual(['POST /next'])
      expect(peer.counts).toEqual({
        'GET /bad': 1,
        'POST /bad': 1,
        'DELETE /bad': 1,
        'GET /sibling': 1,
        'POST /next': 1,
      })
      expect(harness.connections).toEqual(['connect'])
    })

    it.each(
      FINAL,
    )('with $name in the middle of an upload: the call fails, and its body is destroyed', async ({
      code,
    }) => {
      const peer = await startPeer({
        onData: (stream) => stream.sentResetCode === null && stream.reset(code),
        onComplete: (stream) => stream.respond(),
      })
      const harness = startHarness(peer, options)
      const body = new Readable({
        read() {
          this.push(Buffer.alloc(16_384))
        },
      })
      const bad = ask(harness, 'POST /bad', { body })
      expect(await toOutcomes([bad])).toEqual([`StreamError maybe code=${code} attempts=1 stream=1`])
      expect(body.destroyed).toBe(true)
      expect(await toOutcomes([ask(harness, 'GET /next')])).toEqual(['GET /next'])
      expect(peer.ledger).toEqual(['0/1 POST /bad', '0/3 GET /next'])
    })

    describe('with REFUSED_STREAM', () => {
      it.each([
        'GET',
        'POST',
        'DELETE',
        'PATCH',
      ])('a %s is replayed on the same connection', async (method) => {
        const peer = await startPeer(onFirst((stream) => stream.reset(REFUSED_STREAM)))
        const harness = startHarness(peer, options)
        const refused = ask(harness, `${method} /bad`)
        expect(await toOutcomes([refused])).toEqual([`${method} /bad`])
        expect(refused.events).toEqual(['start', 'response 200', 'data', 'end'])
        expect(peer.ledger).toEqual([`0/1 ${method} /bad`, `0/3 ${method} /bad`])
      })
    })
  })

  it.each(
    ALL,
  )('with $name in the middle of a response: the call fails as processed, and is seen once', async ({
    code,
  }) => {
    const peer = await startPeer({
      onComplete: (stream) => {
        if (stream.path !== '/bad') {
          stream.respond()
          return
        }
        stream.head(200)
        stream.data('half')
        stream.reset(code)
      },
    })
    const harness = startHarness(peer, options)
    const bad = ['GET /bad', 'POST /bad'].map((what) => ask(harness, what))
    const sibling = ask(harness, 'GET /sibling')
    const failure = (stream: number) => `StreamError yes code=${code} attempts=1 stream=${stream}`
    expect(await toOutcomes([...bad, sibling])).toEqual([failure(1), failure(3), 'GET /sibling'])
    for (const { events, statuses } of bad) {
      expect(statuses).toEqual([200])
      expect(events.at(-1)).toBe('error')
    }
    expect(peer.counts).toEqual({ 'GET /bad': 1, 'POST /bad': 1, 'GET /sibling': 1 })
    expect(harness.connections).toEqual(['connect'])
  })

  it('with NO_ERROR after a complete response, while the request is still being sent: the call succeeds', async () => {
    const peer = await startPeer([
      {
        onRequest: (stream) => {
          stream.head(413, [['content-length', '3']])
          stream.end('too')
          stream.reset(NO_ERROR)
        },
      },
      SERVE,
    ])
    const harness = startHarness(peer, options)
    const body = new Readable({
      read() {
        this.push(Buffer.alloc(16_384))
      },
    })
    const early = ask(harness, 'POST /bad', { body })
    await early.settled
    expect(early.statuses).toEqual([413])
    expect(early.text).toBe('too')
    expect(body.destroyed).toBe(true)
    expect(peer.counts).toEqual({ 'POST /bad': 1 })
  })
})
