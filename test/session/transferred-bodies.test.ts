import { describe, expect, it } from 'vitest'
import { Setting } from '../../src/testing/frames.ts'
import { ENGINES } from '../support/clients/engines.ts'
import { ask, PATIENT, startHarness, startPeer, toOutcome } from '../support/peers/peer-rig.ts'

const LARGE = 1_048_576
/** How much of a body the peer takes by itself. */
const TAKEN = 16_384

type Engine = (typeof ENGINES)[number]

async function start(engine: Engine) {
  const peer = await startPeer({
    settings: [[Setting.INITIAL_WINDOW_SIZE, TAKEN]],
    grantsCredit: false,
    onConnection: (connection) => connection.grant(0, 4 * LARGE),
    onComplete: (stream) => stream.respond(`${stream.length}`),
  })
  return { peer, harness: startHarness(peer, { ...PATIENT, engine, connections: 1 }) }
}

/** Moves memory, as `postMessage()` with a transfer list does. The result keeps it alive: node may still read it. */
function transfer({ buffer }: Uint8Array<ArrayBuffer>): ArrayBuffer {
  return structuredClone(buffer, { transfer: [buffer] })
}

const KINDS = {
  bytes: (bytes: Uint8Array) => bytes,
  'a list of them': (bytes: Uint8Array) => [bytes],
}

describe.each(ENGINES)('a body whose memory is transferred, on engine %s', (engine) => {
  it.each([
    100,
    LARGE,
  ])('of %i bytes, while its call waits for a connection › fails its call alone', async (size) => {
    const { harness } = await start(engine)
    const bytes = new Uint8Array(size)
    const call = ask(harness, 'POST /moved', { body: bytes })
    const sibling = ask(harness, 'POST /sibling')
    const { byteLength } = transfer(bytes)
    await Promise.all([call.settled, sibling.settled])
    expect(call.error).toMatchObject({ name: 'InvalidArgumentError', code: 'UND_ERR_INVALID_ARG' })
    expect([byteLength, toOutcome(sibling)]).toEqual([size, '4'])
  })

  it.each(
    Object.entries(KINDS),
  )('when some of it was sent › fails its call alone: %s', async (_kind, toBody) => {
    const { peer, harness } = await start(engine)
    // The client knows the peer's window then.
    await ask(harness, 'GET /first').settled
    const bytes = new Uint8Array(LARGE)
    const call = ask(harness, 'POST /moved', { body: toBody(bytes) })
    await peer.waitFor(() => peer.requests[1]?.length === TAKEN)
    const { byteLength } = transfer(bytes)
    const sibling = ask(harness, 'POST /sibling')
    peer.connection(0).grant(peer.request('/moved').id, LARGE)
    await Promise.all([call.settled, sibling.settled])
    expect(call.error).toMatchObject({ name: 'InvalidArgumentError', code: 'UND_ERR_INVALID_ARG' })
    expect([byteLength, toOutcome(sibling)]).toEqual([LARGE, '4'])
    expect(peer.connections).toHaveLength(1)
  })
})
