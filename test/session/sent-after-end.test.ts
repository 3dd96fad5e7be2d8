import { channel } from 'node:diagnostics_channel'
import { Readable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { FaultConnection } from '../../src/testing/fault-connection.ts'
import { Type } from '../../src/testing/frames.ts'
import type { DispatchOptions } from '../../types/index.ts'
import type { Harness } from '../support/clients/engines.ts'
import { ENGINES } from '../support/clients/engines.ts'
import { Recorder } from '../support/clients/recorder.ts'
import { ask, PATIENT, SERVE, startHarness, startPeer } from '../support/peers/peer-rig.ts'

/** Writes down what it hears of its request, too. */
class Witness extends Recorder {
  onBodySent(): void {
    this.events.push('body sent')
  }

  onRequestSent(): void {
    this.events.push('sent')
  }
}

/** Until both sides have done all that they can do by themselves. */
async function quiet(connection: FaultConnection): Promise<void> {
  for (let turn = 0; turn < 5; turn++) {
    await connection.ping()
    await setImmediate()
  }
}

/** What a subscriber does to the call whose header was sent. */
const ENDS: Record<string, (call: Recorder, harness: Harness) => void> = {
  'aborts the call': (call) => call.controller?.abort(new Error('mine')),
  'destroys the client': (_call, harness) => harness.scheduler.destroy(new Error('mine')),
}

/** Requests without a body, and with each kind of one; a source counts what was taken of it. */
const REQUESTS: Record<string, (onTaken: () => void) => Partial<DispatchOptions>> = {
  'without a body': () => ({ method: 'GET' }),
  'of bytes': () => ({ method: 'POST', body: Buffer.alloc(200_000) }),
  'of a Readable': (onTaken) => ({
    method: 'POST',
    body: new Readable({
      read() {
        onTaken()
        this.push(null)
      },
    }),
  }),
  'of a generator': (onTaken) => ({
    method: 'POST',
    body: (async function* () {
      onTaken()
      yield Buffer.alloc(200_000)
    })(),
  }),
}

describe.each(ENGINES)('a call that a subscriber of sendHeaders ends, on engine %s', (engine) => {
  describe.each(Object.entries(ENDS))('who %s', (_name, end) => {
    it.each(
      Object.entries(REQUESTS),
    )('gets the error and no later event, and sends nothing more: a request %s', async (_kind, toRequest) => {
      const peer = await startPeer({ ...SERVE, grantsCredit: false })
      const harness = startHarness(peer, { ...PATIENT, engine })
      await ask(harness, 'GET /first').settled
      const connection = peer.connection(0)
      const call = new Witness()
      const headers = channel('undici:client:sendHeaders')
      const onHeaders = (): void => end(call, harness)
      headers.subscribe(onHeaders)
      onTestFinished(() => {
        headers.unsubscribe(onHeaders)
      })
      let taken = 0
      harness.dispatch({ path: '/ended', ...toRequest(() => taken++) }, call)
      await call.settled
      if (connection.isClosed) await setImmediate()
      else await Promise.race([quiet(connection), peer.waitFor(() => connection.isClosed)])
      expect(call.events).toEqual(['start', 'error'])
      expect(call.error.message).toBe('mine')
      expect(connection.of(Type.DATA)).toEqual([])
      expect(taken).toBe(0)
    })
  })
})
