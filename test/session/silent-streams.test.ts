import { Readable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import type { CallLimits } from '../../types/index.ts'
import { ENGINES } from '../support/clients/engines.ts'
import { FakeClock } from '../support/clocks/fake-clock.ts'
import { ask, PATIENT, startHarness, startPeer, toOutcomes } from '../support/peers/peer-rig.ts'

const HOUR = 3_600_000

/** `PATIENT` without `bodyTimeout` and `uploadTimeout`: these have their defaults. */
const { bodyTimeout: _body, uploadTimeout: _upload, ...PATIENT_ELSEWHERE } = PATIENT

interface Given {
  readonly what: string
  readonly client: CallLimits
  readonly request: CallLimits
  /** The name of the error; null when it goes on. */
  readonly error: string | null
}

const CASES: readonly Given[] = [
  { what: 'nothing said', client: {}, request: {}, error: 'UploadTimeoutError' },
  {
    what: 'both 0 for the client',
    client: { bodyTimeout: 0, uploadTimeout: 0 },
    request: {},
    error: null,
  },
  {
    what: 'both 0 for the request',
    client: {},
    request: { bodyTimeout: 0, uploadTimeout: 0 },
    error: null,
  },
  {
    what: "both 0 for the request, against the client's own",
    client: { bodyTimeout: 1_000, uploadTimeout: 1_000 },
    request: { bodyTimeout: 0, uploadTimeout: 0 },
    error: null,
  },
  {
    what: 'uploadTimeout 0 for the request alone',
    client: {},
    request: { uploadTimeout: 0 },
    error: 'BodyTimeoutError',
  },
  {
    what: 'bodyTimeout 0 for the request alone',
    client: {},
    request: { bodyTimeout: 0 },
    error: 'UploadTimeoutError',
  },
  {
    what: 'uploadTimeout 0 for the client alone',
    client: { uploadTimeout: 0 },
    request: {},
    error: 'BodyTimeoutError',
  },
  {
    what: 'bodyTimeout 0 for the client alone',
    client: { bodyTimeout: 0 },
    request: {},
    error: 'UploadTimeoutError',
  },
  {
    what: 'both 0 for the client, and a bodyTimeout of the request',
    client: { bodyTimeout: 0, uploadTimeout: 0 },
    request: { bodyTimeout: 1_000 },
    error: 'BodyTimeoutError',
  },
  {
    what: 'both 0 for the client, and an uploadTimeout of the request',
    client: { bodyTimeout: 0, uploadTimeout: 0 },
    request: { uploadTimeout: 1_000 },
    error: 'UploadTimeoutError',
  },
]

describe.each(
  ENGINES,
)('a bidirectional stream that is silent in both directions for hours, on engine %s', (engine) => {
  it.each(CASES)('with $what › ends in $error', async ({ client, request, error }) => {
    const clock = new FakeClock()
    const peer = await startPeer({
      onData(stream) {
        if (stream.chunks.length > 1) return
        stream.head(200)
        stream.data('one, ')
      },
      onComplete: (stream) => stream.end('two'),
    })
    const harness = startHarness(peer, { ...PATIENT_ELSEWHERE, engine, connections: 1, ...client }, clock)
    const body = new Readable({ read() {} })
    body.push('first')
    const call = ask(harness, 'POST /talk', { body, ...request })
    await peer.waitFor(() => peer.connections[0]?.streams.length === 1)
    while (call.text !== 'one, ') await peer.connection(0).ping()
    clock.advance(5 * HOUR)
    // If the call goes on, both sides send data again.
    body.push('last')
    body.push(null)
    await call.settled
    if (error === null) expect(await toOutcomes([call])).toEqual(['one, two'])
    else expect(call.error.name).toBe(error)
  })
})
