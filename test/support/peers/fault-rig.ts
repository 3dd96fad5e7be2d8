/** Polite fault servers in our own tests: they end with the test, and so does what talks to them. */

import { expect, onTestFinished } from 'vitest'
import type { FaultServerOptions } from '../../../src/testing/fault-options.ts'
import { ERROR_CODES } from '../../../src/testing/frames.ts'
import type { FaultServer } from '../../../src/testing/index.ts'
import { createFaultServer } from '../../../src/testing/index.ts'
import type { DispatchOptions, PoolOptions } from '../../../types/index.ts'
import { Harness } from '../clients/engines.ts'
import type { Recorder } from '../clients/recorder.ts'
import { FakeClock } from '../clocks/fake-clock.ts'
import { TIMEOUT } from './peer.ts'
import { settle } from './peer-rig.ts'
import { toTlsPeer } from './peer-tls.ts'

/**
 * Limits that are waited out where nothing comes, on a clock of the test's own; a connection that is silent behind one is
 * given up. Milliseconds.
 */
const LIMITS = {
  connectTimeout: 0,
  queueTimeout: 0,
  headersTimeout: 60_000,
  bodyTimeout: 60_000,
  uploadTimeout: 60_000,
  pingTimeout: 10_000,
}

/** A server, and a client of one connection at a time. */
export interface FaultScene {
  readonly server: FaultServer
  readonly harness: Harness
  /** A call by its method and path: `'GET /a'`. A POST gets a body, unless the options have one. */
  ask(what: string, options?: Partial<DispatchOptions>): Recorder
  /** How a call ended: `200 text`, or its error, such as `StreamError CANCEL maybe`: class, HTTP/2 code, processed. */
  toEnd(call: Recorder): Promise<string>
}

/** A server that ends with the test. Its clients may be in other processes. */
export async function startFaults(options: FaultServerOptions = { h2c: true }): Promise<FaultServer> {
  const server = await createFaultServer(options)
  onTestFinished(() => server.close())
  return server
}

/** @param transport TLS, or HTTP/2 in the clear */
export async function startScene(
  options: PoolOptions = {},
  transport: 'h2c' | 'TLS' = 'h2c',
  listening: FaultServerOptions = {},
): Promise<FaultScene> {
  const tls = transport === 'TLS' ? await toTlsPeer() : null
  const server = await createFaultServer({
    ...(tls?.options ?? { h2c: true }),
    timeout: TIMEOUT,
    ...listening,
  })
  const connect = tls === null ? {} : { connect: { ca: tls.ca } }
  const clock = new FakeClock()
  const harness = new Harness(server.origin, { connections: 1, ...LIMITS, ...connect, ...options }, clock)
  onTestFinished(async () => {
    harness.scheduler.destroy(null)
    await server.close()
    expect(server.problems).toEqual([])
  })
  return {
    server,
    harness,
    ask(what, more = {}) {
      const [method = 'GET', path = '/'] = what.split(' ')
      const body = method === 'POST' ? { body: 'body' } : {}
      return harness.dispatch({ method, path, ...body, ...more })
    },
    async toEnd(call) {
      await settle(clock, [call])
      return describe(call)
    },
  }
}

function describe(call: Recorder): string {
  if (call.events.at(-1) === 'end') return `${call.statuses.join(' ')} ${call.text}`.trim()
  const { name, processed, http2ErrorCode } = Object(call.error)
  return `${name} ${ERROR_CODES[http2ErrorCode] ?? http2ErrorCode ?? '-'} ${processed}`
}
