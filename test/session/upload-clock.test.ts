import { setImmediate } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import type { FaultConnection } from '../../src/testing/fault-connection.ts'
import { Flag, frames, Setting } from '../../src/testing/frames.ts'
import type { DispatchOptions } from '../../types/index.ts'
import { ENGINES } from '../support/clients/engines.ts'
import { PausingRecorder } from '../support/clients/recorder.ts'
import { FakeClock } from '../support/clocks/fake-clock.ts'
import { NO_ERROR } from '../support/peers/error-codes.ts'
import { ask, PATIENT, startHarness, startPeer, toOutcome } from '../support/peers/peer-rig.ts'

type Engine = (typeof ENGINES)[number]

const PIECE = 16_384
const PIECES = 5
const TIMEOUT = 10_000

/** Until both sides have done all that they can do by themselves. */
async function quiet(connection: FaultConnection): Promise<void> {
  for (let turn = 0; turn < 5; turn++) {
    await connection.ping()
    await setImmediate()
  }
}

/** A body of as many pieces as there are grants, of each kind. */
const SOURCES: Record<string, () => DispatchOptions['body']> = {
  generator: async function* () {
    for (let count = 0; count < PIECES; count++) yield Buffer.alloc(PIECE)
  },
  'web stream': () =>
    new ReadableStream({
      start(controller) {
        for (let count = 0; count < PIECES; count++) controller.enqueue(new Uint8Array(PIECE))
        controller.close()
      },
    }),
}

/** A peer that takes a piece of each body, and no more by itself; a client that has its SETTINGS. */
async function start(engine: Engine) {
  const clock = new FakeClock()
  const peer = await startPeer({
    settings: [[Setting.INITIAL_WINDOW_SIZE, PIECE]],
    grantsCredit: false,
    onConnection: (connection) => connection.grant(0, 1_000_000),
    onComplete: (stream) => stream.respond('taken'),
  })
  const harness = startHarness(peer, { ...PATIENT, engine, uploadTimeout: TIMEOUT }, clock)
  await ask(harness, 'GET /first').settled
  return { clock, peer, harness, connection: peer.connection(0) }
}

/**
 * An upload of which the peer takes a piece at a time, each nearly as late as it may. On engine wire alone: newer
 * versions of node:http2 gather the pieces of a source, and tell of them when all were taken.
 */
async function trickle(body: DispatchOptions['body']): Promise<void> {
  const { clock, peer, harness, connection } = await start('wire')
  const call = ask(harness, 'POST /upload', { body })
  await peer.waitFor(() => peer.requests.length === 2)
  const stream = peer.request('/upload')
  for (let taken = 1; taken <= PIECES; taken++) {
    await peer.waitFor(() => stream.length === taken * PIECE)
    await quiet(connection)
    if (taken < PIECES) clock.advance(TIMEOUT * 0.6)
    await quiet(connection)
    expect(call.errors, `after ${taken} pieces`).toEqual([])
    if (taken < PIECES) connection.grant(stream.id, PIECE)
  }
  await call.settled
  expect(toOutcome(call)).toBe('taken')
}

describe.each(ENGINES)('the clock of an upload, on engine %s', (engine) => {
  it('expires when the peer takes no data for uploadTimeout', async () => {
    const { clock, peer, harness, connection } = await start(engine)
    const call = ask(harness, 'POST /upload', { body: SOURCES.generator?.() })
    await peer.waitFor(() => peer.requests.length === 2 && peer.request('/upload').length === PIECE)
    await quiet(connection)
    clock.advance(TIMEOUT * 1.5)
    await call.settled
    expect(call.error.name).toBe('UploadTimeoutError')
  })
})

describe('the clock of an upload, on engine wire', () => {
  it.each(
    Object.entries(SOURCES),
  )('restarts with each piece that the peer takes, also after the end of the source: %s', (_kind, toBody) =>
    trickle(toBody()))

  it('restarts with each frame that the peer takes of one large piece', () =>
    trickle(Buffer.alloc(PIECES * PIECE)))

  it('stops when the response is complete and the peer refuses the rest of the body, however late the response is read', async () => {
    const { clock, peer, harness, connection } = await start('wire')
    const call = harness.dispatch(
      { method: 'POST', path: '/upload', body: Buffer.alloc(PIECES * PIECE) },
      new PausingRecorder(),
    )
    await peer.waitFor(() => peer.requests.length === 2 && peer.request('/upload').length === PIECE)
    const { id } = peer.request('/upload')
    connection.write(
      frames.response(id),
      frames.data(id, 'enough', Flag.END_STREAM),
      frames.reset(id, NO_ERROR),
    )
    await quiet(connection)
    clock.advance(TIMEOUT * 3)
    await quiet(connection)
    expect(call.errors).toEqual([])
    call.controller?.resume()
    await call.settled
    expect(toOutcome(call)).toBe('enough')
  })
})
