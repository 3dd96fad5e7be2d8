import { setImmediate } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import type { FaultConnection } from '../../src/testing/fault-connection.ts'
import type { FaultStream } from '../../src/testing/fault-stream.ts'
import { frames } from '../../src/testing/frames.ts'
import type { DispatchController } from '../../types/index.ts'
import { ENGINES } from '../support/clients/engines.ts'
import type { Recorder } from '../support/clients/recorder.ts'
import { PausingRecorder } from '../support/clients/recorder.ts'
import { INTERNAL_ERROR } from '../support/peers/error-codes.ts'
import { ask, PATIENT, SERVE, startHarness, startPeer, toOutcome } from '../support/peers/peer-rig.ts'

type Break = (stream: FaultStream, connection: FaultConnection) => void

const RESETS: Readonly<Record<string, number>> = { NO_ERROR: 0, INTERNAL_ERROR, REFUSED_STREAM: 7, CANCEL: 8 }

const LOSSES: Readonly<Record<string, Break>> = {
  FIN: (_stream, connection) => connection.end(),
  'a TCP reset': (_stream, connection) => connection.break(),
  'GOAWAY with an error, and FIN': (stream, connection) => {
    connection.goAway({ lastStreamId: stream.id, code: INTERNAL_ERROR })
    connection.end()
  },
}

describe.each(ENGINES)('a response whose reader is paused, on engine %s', (engine) => {
  /** Two pieces of a response lie unread. */
  async function start(recorder: Recorder = new PausingRecorder()) {
    const peer = await startPeer([{ onRequest: (stream) => stream.head(200) }, SERVE])
    const harness = startHarness(peer, { ...PATIENT, engine })
    const call = harness.dispatch({}, recorder)
    await peer.waitFor(() => peer.requests.length === 1)
    const [connection, stream] = [peer.connection(0), peer.request('/')]
    stream.data('one ')
    stream.data('two')
    await connection.ping()
    await setImmediate()
    await connection.ping()
    expect(call.events).toEqual(['start', 'response 200'])
    return { peer, harness, call, connection, stream }
  }

  it.each(
    Object.entries(RESETS),
  )('when it is reset with %s › delivers the data that has come, and then the error', async (_name, code) => {
    const { peer, harness, call, connection, stream } = await start()
    stream.reset(code)
    await call.settled
    expect([call.text, call.events.at(-1)]).toEqual(['one two', 'error'])
    expect(toOutcome(call)).toMatch(`StreamError yes code=${code} attempts=1`)
    // Nothing of it is left behind.
    const next = ask(harness, 'GET /next')
    await peer.waitFor(() => peer.requests.length === 2)
    peer.request('/next').end('next')
    await next.settled
    expect([next.text, peer.connections.length, connection.open]).toEqual(['next', 1, 0])
    call.controller?.resume()
    expect(call.events.filter((event) => event === 'error')).toHaveLength(1)
  })

  it.each(
    Object.entries(LOSSES),
  )('when its session ends by %s › delivers the data that has come, and then the error', async (_name, lose) => {
    const { call, connection, stream } = await start()
    lose(stream, connection)
    await call.settled
    expect([call.text, call.events.at(-1)]).toEqual(['one two', 'error'])
    expect(call.error).toMatchObject({ processed: 'yes' })
  })

  it('when the caller aborts it › drops the data that has come', async () => {
    const { call } = await start()
    const reason = new Error('enough')
    call.controller?.abort(reason)
    expect([call.events, call.error]).toEqual([['start', 'response 200', 'error'], reason])
  })

  it('when its dispatcher is destroyed › drops the data that has come', async () => {
    const { call, harness } = await start()
    await harness.scheduler.destroy(null)
    expect(call.events).toEqual(['start', 'response 200', 'error'])
  })

  it('when its handler aborts the call at the first piece › delivers no further piece', async () => {
    const reason = new Error('enough')
    class Aborting extends PausingRecorder {
      override onResponseData(controller: DispatchController, chunk: Buffer): void {
        super.onResponseData(controller, chunk)
        controller.abort(reason)
      }
    }
    const { call, stream } = await start(new Aborting())
    stream.reset(INTERNAL_ERROR)
    await call.settled
    expect(call.errors).toEqual([reason])
    expect(call.events.filter((event) => event === 'data')).toHaveLength(1)
  })

  it('when its handler resumes within the first piece › delivers each piece once', async () => {
    class Resuming extends PausingRecorder {
      override onResponseData(controller: DispatchController, chunk: Buffer): void {
        controller.resume()
        super.onResponseData(controller, chunk)
        controller.pause()
      }
    }
    const { call, connection, stream } = await start(new Resuming())
    connection.write(frames.data(stream.id, ' three'), frames.reset(stream.id, INTERNAL_ERROR))
    await call.settled
    expect([call.text, call.events.at(-1)]).toEqual(['one two three', 'error'])
  })
})
