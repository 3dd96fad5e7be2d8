import { describe, expect, it } from 'vitest'
import { errors } from '../../src/index.ts'
import { frames } from '../../src/testing/frames.ts'
import { ENGINES } from '../support/clients/engines.ts'
import { FLOW_CONTROL_ERROR } from '../support/peers/error-codes.ts'
import { ask, PATIENT, startHarness, startPeer } from '../support/peers/peer-rig.ts'

const MAX_WINDOW = 2 ** 31 - 1

describe.each(ENGINES)('a peer that opens the window of a stream too far, on engine %s', (engine) => {
  it.each([
    ['hasn’t answered it › may have processed it', false, 'maybe'],
    ['has begun to respond to it › has processed it', true, 'yes'],
  ] as const)('when it %s', async (_name, isResponded, processed) => {
    const peer = await startPeer({
      onRequest: ({ id }, connection) => {
        if (isResponded) connection.write(frames.response(id))
        connection.write(frames.windowUpdate(id, MAX_WINDOW))
      },
    })
    const call = ask(startHarness(peer, { ...PATIENT, engine }), 'POST /')
    await call.settled
    expect(call.statuses).toEqual(isResponded ? [200] : [])
    expect(call.error).toMatchObject({ processed, attempts: 1 })
    // node:http2 takes it for the end of the whole session.
    if (engine === 'wire') {
      expect(call.error).toBeInstanceOf(errors.StreamError)
      expect(call.error).toMatchObject({ http2ErrorCode: FLOW_CONTROL_ERROR })
    }
  })
})
