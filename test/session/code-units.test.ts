/**
 * Every code unit up to U+0200, at every place of a request, decoded by decoders that aren't ours. It is refused before
 * anything is sent, or it arrives: never as another one.
 */

import { once } from 'node:events'
import type { ServerHttp2Stream } from 'node:http2'
import { createServer } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { errors, Pool } from '../../src/index.ts'
import { Setting } from '../../src/testing/frames.ts'
import type { Field } from '../../src/testing/hpack.ts'
import type { DispatchOptions } from '../../types/index.ts'
import { destroyWithTest } from '../support/clients/agents.ts'
import { ENGINES } from '../support/clients/engines.ts'
import { Recorder } from '../support/clients/recorder.ts'
import { PATIENT, startPeer } from '../support/peers/peer-rig.ts'
import type { Arrived, Place } from './code-units.ts'
import { CHARACTERS, PLACES } from './code-units.ts'

/** One request of the table, by the number that it carries. */
interface Case {
  readonly place: Place
  readonly character: string
  readonly call: Recorder
}

/** Tunnels are refused by the servers here. */
class Call extends Recorder {
  onRequestUpgrade(): void {
    throw new Error('There was a tunnel')
  }
}

function toPool(origin: string, engine: 'node' | 'wire'): Pool {
  const pool = destroyWithTest(new Pool(origin, { ...PATIENT, engine, connections: 1, fallback: null }))
  return pool
}

/** The headers of a request, in the caller's form, and its number. */
function withNumber({ headers }: Partial<DispatchOptions>, number: number): DispatchOptions['headers'] {
  if (!Array.isArray(headers)) return { ...headers, 'x-number': `${number}` }
  const [first] = headers
  return Array.isArray(first)
    ? new Map([...headers, ['x-number', `${number}`]])
    : [...headers, 'x-number', `${number}`]
}

/** Dispatches the whole table at once; what is refused has to be refused by then. */
async function run(pool: Pool, isWanted: (expected: string | null) => boolean): Promise<Case[]> {
  const cases: Case[] = []
  for (const place of PLACES) {
    for (const character of CHARACTERS) {
      const expected = place.toExpected(character)
      if (!isWanted(expected)) continue
      const call = new Call()
      const options = place.toOptions(character)
      const request = { path: '/', method: 'GET', ...options, headers: withNumber(options, cases.length) }
      cases.push({ place, character, call })
      pool.dispatch(request, call)
      const isRefused = expected === null && place.isLate !== true
      if (call.errors.length > 0 !== isRefused) throw new Error(toMessage({ place, character, call }))
    }
  }
  await Promise.all(cases.map(({ call }) => call.settled))
  return cases
}

function toMessage({ place, character, call }: Case): string {
  const unit = character.charCodeAt(0).toString(16).padStart(4, '0')
  return `U+${unit} in ${place.name}: ${call.errors[0] ?? call.statuses.join()}`
}

/** What is wrong with what has arrived, case by case. */
function toFaults(cases: readonly Case[], arrived: ReadonlyMap<string, Arrived>): string[] {
  const faults: string[] = []
  for (const [number, one] of cases.entries()) {
    const { place, character, call } = one
    const expected = place.toExpected(character)
    const seen = arrived.get(`${number}`)
    if (expected === null) {
      const isRefused = call.errors[0] instanceof errors.InvalidArgumentError
      // One that is refused late has sent its header by then, and no trailers.
      const isUnsent = place.isLate === true ? (seen?.trailers ?? null) === null : seen === undefined
      if (!isRefused || !isUnsent) faults.push(`${toMessage(one)}: sent`)
    } else if (call.errors.length > 0 || seen === undefined || place.read(seen) !== expected) {
      const got = seen === undefined ? 'nothing' : JSON.stringify(place.read(seen))
      faults.push(`${toMessage(one)}: got ${got} instead of ${JSON.stringify(expected)}`)
    }
  }
  return faults
}

describe.each(ENGINES)('with engine %s', (engine) => {
  it('each character arrives as sent or is refused, by the reading of an independent decoder', async () => {
    const peer = await startPeer({
      settings: [[Setting.ENABLE_CONNECT_PROTOCOL, 1]],
      onRequest: (stream) => {
        if (stream.method !== 'CONNECT') return
        stream.head(404)
        stream.end()
      },
      onComplete: (stream) => {
        if (stream.method !== 'CONNECT') stream.respond()
      },
    })
    const cases = await run(toPool(peer.origin, engine), () => true)
    const arrived = new Map<string, Arrived>()
    for (const stream of peer.requests) {
      const { fields, trailers, chunks } = stream
      arrived.set(stream.field('x-number') ?? 'none', { fields, trailers, body: Buffer.concat(chunks) })
    }
    expect(toFaults(cases, arrived)).toEqual([])
    expect(peer.connections).toHaveLength(1)
    expect(cases.length).toBe(PLACES.length * CHARACTERS.length)
  })

  it('each accepted character arrives at a server of nghttp2', async () => {
    const arrived = new Map<string, Arrived>()
    let sessions = 0
    const server = createServer({ settings: { enableConnectProtocol: true } })
    server.on('session', (session) => {
      sessions++
      session.on('error', () => {})
    })
    server.on('stream', (stream: ServerHttp2Stream, headers, _flags, raw: string[]) => {
      const seen = { fields: toPairs(raw), trailers: null as Field[] | null, body: Buffer.alloc(0) }
      const chunks: Buffer[] = []
      arrived.set(String(headers['x-number']), seen)
      stream.on('error', () => {})
      stream.on('trailers', (_trailers, _trailerFlags, ...rest: unknown[]) => {
        seen.trailers = toPairs(rest[0] as string[])
      })
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      const response = (): void => {
        seen.body = Buffer.concat(chunks)
        stream.respond({ ':status': headers[':method'] === 'CONNECT' ? 404 : 200 }, { endStream: true })
      }
      if (headers[':method'] === 'CONNECT') response()
      else stream.on('end', response)
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    onTestFinished(async () => {
      const closed = once(server, 'close')
      server.close()
      await closed
    })
    const pool = toPool(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, engine)
    const cases = await run(pool, (expected) => expected !== null)
    expect(toFaults(cases, arrived)).toEqual([])
    expect(sessions).toBe(1)
    await pool.destroy()
  })
})

function toPairs(raw: readonly string[]): Field[] {
  const fields: Field[] = []
  for (let i = 0; i < raw.length; i += 2) fields.push([raw[i] ?? '', raw[i + 1] ?? ''])
  return fields
}
