import { describe, expect, it } from 'vitest'
import type { BadFrame } from '../../src/testing/bad-frames.ts'
import type { BadHeaders } from '../../src/testing/bad-headers.ts'
import type { FaultConnection } from '../../src/testing/fault-connection.ts'
import type { FaultStream } from '../../src/testing/fault-stream.ts'
import type { Flood } from '../../src/testing/floods.ts'
import type { HeaderBomb } from '../../src/testing/header-bombs.ts'
import { ENGINES } from '../support/clients/engines.ts'
import { startScene } from '../support/peers/fault-rig.ts'
import type { Ends } from './fault-ends.ts'
import { OF_BOMBS, OF_FLOODS, OF_FRAMES, OF_HEADERS } from './fault-ends.ts'

/** Of a flood. Octets. */
const FLOOD = 2_000_000

function toCases<Name extends string>(all: Readonly<Record<Name, Ends>>): (readonly [Name, Ends])[] {
  return Object.entries(all) as [Name, Ends][]
}

describe.each(ENGINES)('what a fault server has a name for, on engine %s', (engine) => {
  async function expectEnd(
    ends: Ends,
    script: (stream: FaultStream, connection: FaultConnection) => unknown,
  ) {
    const { server, ask, toEnd } = await startScene({ engine })
    server.onRequest('/fault', script, { times: 1 })
    expect(await toEnd(ask('POST /fault'))).toBe(ends[engine])
    // Whatever has become of the connection, there is one for the next request.
    expect(await toEnd(ask('GET /next'))).toBe('200 GET /next')
    expect(server.counts).toEqual({ 'POST /fault': 1, 'GET /next': expect.any(Number) })
  }

  it.each(toCases<BadFrame>(OF_FRAMES))('a bad frame: %s', async (name, ends) => {
    await expectEnd(ends, (_stream, connection) => connection.badFrame(name))
  })

  it.each(toCases<BadHeaders>(OF_HEADERS))('a bad header section: %s', async (name, ends) => {
    await expectEnd(ends, (stream) => stream.badHeaders(name))
  })

  it.each(toCases<HeaderBomb>(OF_BOMBS))('a header bomb: %s', async (name, ends) => {
    await expectEnd(ends, (stream) => stream.headerBomb(name))
  })

  it.each(toCases<Flood>(OF_FLOODS))('a flood: %s', async (name, ends) => {
    const { server, ask, toEnd } = await startScene({ engine })
    server.onRequest('/fault', (_stream, connection) => connection.flood(name, { bytes: FLOOD }))
    expect(await toEnd(ask('POST /fault'))).toBe(ends[engine])
    // A header block of it may have no end.
    for (const connection of server.connections) connection.break()
    expect(await toEnd(ask('GET /next'))).toBe('200 GET /next')
    expect(server.counts['POST /fault']).toBe(1)
  })
})
