import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { Client } from '../../src/index.ts'
import { ENGINES, Harness } from '../support/clients/engines.ts'
import type { Recorder } from '../support/clients/recorder.ts'
import { FakeClock } from '../support/clocks/fake-clock.ts'
import { PATIENT } from '../support/peers/peer-rig.ts'
import { Cleaner } from './fetch-servers.ts'
import type { GrpcServer } from './grpc-servers.ts'
import { GRPC_SERVERS, GRPC_START_LIMIT, startGrpcServer } from './grpc-servers.ts'

const SECOND = 1_000
const MINUTE = 60_000
const HOUR = 3_600_000

const { pingInterval: _interval, pingTimeout: _timeout, ...patient } = PATIENT

/** A message as gRPC frames it: no compression, its length, itself. */
function toMessage(text: string): Buffer {
  const message = Buffer.from(text)
  const prefix = Buffer.alloc(5)
  prefix.writeUInt32BE(message.length, 1)
  return Buffer.concat([prefix, message])
}

async function* toEndless(): AsyncGenerator<Buffer> {
  yield toMessage('a piece')
  await new Promise(() => {})
}

/**
 * Time stands still for the client. For the server all of its PINGs come within the five minutes between two that it
 * allows.
 */
describe.each(GRPC_SERVERS)('the PINGs that %s gets', (name) => {
  const cleaner = new Cleaner()
  let server: GrpcServer

  beforeAll(async () => {
    server = await startGrpcServer(name, cleaner)
  }, GRPC_START_LIMIT)
  afterAll(() => cleaner.clean())

  function begin(engine: (typeof ENGINES)[number]) {
    const clock = new FakeClock()
    const harness = new Harness(
      server.origin,
      { ...patient, engine, connections: 1, pingTimeout: HOUR },
      clock,
    )
    const other = new Client(server.origin)
    onTestFinished(async () => {
      await Promise.all([harness.scheduler.destroy(null), other.destroy()])
    })
    const call = (method: string, body: Buffer | AsyncIterable<Buffer>): Recorder =>
      harness.dispatch({
        method: 'POST',
        path: `/dodici.Test/${method}`,
        headers: { 'content-type': 'application/grpc', te: 'trailers' },
        body,
      })
    /** Gives the server time, and everything that is on its way: round trips on a connection of their own. */
    const wait = async (): Promise<void> => {
      for (let i = 0; i < 5; i++) await (await other.request({ method: 'POST', path: '/none' })).body.dump()
    }
    const ask = async (method: string): Promise<string> => {
      const asked = call(method, toMessage(''))
      await asked.settled
      return asked.text
    }
    // One that has got a GOAWAY is draining.
    const toStates = (): string[] => harness.scheduler.toSessionStats().map(({ state }) => state)
    return { clock, call, ask, wait, toStates }
  }

  it.each(
    ENGINES,
  )('on engine %s: uploads that are cancelled a second apart leave the connection alone', async (engine) => {
    const { clock, call, ask, wait, toStates } = begin(engine)
    const first = await ask('Connection')
    const sibling = call('Never', toMessage(randomUUID()))
    for (let i = 0; i < 8; i++) {
      const upload = call('Collect', toEndless())
      await wait()
      upload.controller?.abort()
      await wait()
      clock.advance(SECOND)
    }
    expect(await ask('Connection')).toBe(first)
    expect([sibling.errors, toStates()]).toEqual([[], ['ready']])
  })

  it.each(
    ENGINES,
  )('on engine %s: a first call without a response for seven minutes leaves the connection alone', async (engine) => {
    const { clock, call, wait, toStates } = begin(engine)
    const watch = call('Never', toMessage(randomUUID()))
    await wait()
    for (let i = 0; i < 6; i++) {
      clock.advance(MINUTE * 1.25)
      await wait()
    }
    expect([watch.errors, toStates()]).toEqual([[], ['ready']])
  })
})
