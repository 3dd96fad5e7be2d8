/** Peers in our own tests: they end with the test, and so does what talks to them. */

import type { Socket } from 'node:net'
import { connect } from 'node:net'
import { expect, onTestFinished } from 'vitest'
import type { ConnectionScript } from '../../../src/testing/fault-connection.ts'
import type { FaultServerOptions } from '../../../src/testing/fault-options.ts'
import type { FaultServer } from '../../../src/testing/fault-server.ts'
import type { Connector, DispatchOptions, PoolOptions } from '../../../types/index.ts'
import { Harness } from '../clients/engines.ts'
import type { Recorder } from '../clients/recorder.ts'
import type { FakeClock } from '../clocks/fake-clock.ts'
import { listenPeer } from './peer.ts'

/** Responds to each request as soon as it is whole, by its own method and path. */
export const SERVE: ConnectionScript = { onComplete: (stream) => stream.respond() }

/** Never closes its side. By itself it says its SETTINGS and the ACK of the client's, and nothing else. */
export const DEAF: ConnectionScript = { staysHalfOpen: true, acksPings: false, grantsCredit: false }

/** No limit runs except those that a test sets, and the back-off. */
export const PATIENT = {
  connectTimeout: 0,
  queueTimeout: 0,
  headersTimeout: 0,
  bodyTimeout: 0,
  uploadTimeout: 0,
  pingInterval: 0,
  pingTimeout: 0,
  keepAliveTimeout: 0,
} as const

export async function startPeer(
  scripts: ConnectionScript | readonly ConnectionScript[],
  options: FaultServerOptions = {},
): Promise<FaultServer> {
  const peer = await listenPeer(scripts, options)
  onTestFinished(async () => {
    await peer.close()
    expect(peer.problems).toEqual([])
  })
  return peer
}

/**
 * A connector that yields a Duplex of the peer's instead of a socket. Its type promises a socket, as undici's does;
 * what callers give may be any Duplex. Engine `wire` alone runs over it.
 */
export function toConnector(peer: FaultServer): Connector {
  return (_options, callback) => callback(null, peer.connect() as Socket)
}

/** A connector that yields a socket of the system's, which is connected to the peer. */
export function toSocketConnector(peer: FaultServer): Connector {
  const { hostname, port } = new URL(peer.origin)
  return (_options, callback) => {
    const socket = connect(Number(port), hostname, () => callback(null, socket))
  }
}

/** How a call fails that names engine `node`, and whose connector yields a Duplex. */
export const REFUSED_DUPLEX = {
  name: 'InvalidArgumentError',
  code: 'UND_ERR_INVALID_ARG',
  message: expect.stringMatching(/^Invalid engine: got 'node' for a Duplex .* expected 'wire'/),
}

export function startHarness(peer: FaultServer, options: PoolOptions, clock?: FakeClock): Harness {
  const harness = new Harness(peer.origin, options, clock)
  onTestFinished(() => harness.scheduler.destroy(null))
  return harness
}

/** Settles once these are the connections that came and went, as a client's events tell. */
export async function heard(harness: Harness, events: readonly string[]): Promise<void> {
  await expect.poll(() => harness.connections).toEqual(events)
}

/** A call by its method and path: `'GET /a'`. A POST gets a body, unless the options have one. */
export function ask(harness: Harness, what: string, options: Partial<DispatchOptions> = {}): Recorder {
  const [method = 'GET', path = '/'] = what.split(' ')
  const body = method === 'POST' ? { body: 'body' } : {}
  return harness.dispatch({ method, path, ...body, ...options })
}

/** How a call ended, in a word: the response's text, or what its error says of itself. */
export function toOutcome(call: Recorder): string {
  if (call.events.at(-1) === 'end') return call.text
  const { processed, http2ErrorCode, attempts, streamId } = Object(call.error)
  return `${call.error.name} ${processed} code=${http2ErrorCode} attempts=${attempts} stream=${streamId}`
}

/** How each of the calls has ended, once all have. */
export async function toOutcomes(calls: readonly Recorder[]): Promise<string[]> {
  await Promise.all(calls.map((call) => call.settled))
  return calls.map(toOutcome)
}

/**
 * Lets calls settle whose connections back off: moves the clock, a little in each turn of the event loop. Everything
 * else that the clock bounds must be off, or large.
 */
export async function settle(clock: FakeClock, calls: readonly Recorder[]): Promise<void> {
  let left = calls.length
  for (const call of calls) void call.settled.then(() => left--)
  while (left > 0) {
    await new Promise((resolve) => setImmediate(resolve))
    clock.advance(10)
  }
}
