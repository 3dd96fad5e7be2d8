import { describe, expect, it } from 'vitest'
import { bundle } from '../support/clients/bundled.ts'
import { runNodeIn } from '../support/clients/child.ts'
import { SERVE, startPeer } from '../support/peers/peer-rig.ts'
import { toTlsPeer } from '../support/peers/peer-tls.ts'

const toFile = bundle({ 'default-engine': new URL('./children/default-engine.ts', import.meta.url) })

type Mode = 'all' | 'top level' | 'named' | 'unknown' | 'changed' | 'duplex'

/** What a process with this DODICI_ENGINE reports; undefined: it has none. */
async function play(mode: Mode, value?: string): Promise<unknown> {
  const { options } = await toTlsPeer()
  const peer = await startPeer(SERVE, options)
  // A warning of the certificates that are not checked isn't meant.
  const env = { NODE_NO_WARNINGS: '1', ...(value === undefined ? {} : { DODICI_ENGINE: value }) }
  const { code, stdout, stderr } = await runNodeIn(env, toFile('default-engine'), mode, peer.origin)
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  return JSON.parse(stdout)
}

const VALUES = [
  { what: 'not set', value: undefined, engine: 'node' },
  { what: 'empty', value: '', engine: 'node' },
  { what: 'node', value: 'node', engine: 'node' },
  { what: 'wire', value: 'wire', engine: 'wire' },
]

describe('DODICI_ENGINE', () => {
  it.each(
    VALUES,
  )('when it is $what › dispatchers that name no engine, and an installed fetch, run on $engine', async ({
    value,
    engine,
  }) => {
    expect(await play('all', value)).toEqual({ client: engine, pool: engine, agent: engine, fetch: engine })
  })

  it.each(
    VALUES,
  )('when it is $what › request() by the dispatcher that is there from the start runs on $engine', async ({
    value,
    engine,
  }) => {
    expect(await play('top level', value)).toEqual({ request: engine })
  })

  it.each(['node', 'wire'])('when it is %s › the engine option wins, and null is none', async (value) => {
    expect(await play('named', value)).toEqual({ node: 'node', wire: 'wire', null: value })
  })

  it.each([
    ['bogus', '"bogus"'],
    ['Wire', '"Wire"'],
    ['wire ', '"wire "'],
    ['toString', '"toString"'],
  ])('when it is %j › each dispatcher that names no engine is refused, and one that does runs on it', async (value, shown) => {
    const refusal = {
      name: 'InvalidArgumentError',
      code: 'UND_ERR_INVALID_ARG',
      message: `Invalid DODICI_ENGINE: got ${shown}, expected one of "node", "wire"`,
    }
    expect(await play('unknown', value)).toEqual({
      client: refusal,
      again: refusal,
      request: refusal,
      named: 'wire',
    })
  })

  it('when it changes after the first dispatcher that names no engine › has no effect any more', async () => {
    expect(await play('changed', 'node')).toEqual({
      named: 'node',
      first: 'wire',
      second: 'wire',
      third: 'wire',
    })
  })

  it.each(['node', 'wire'])('when it is %s › a session over a Duplex runs on wire', async (value) => {
    expect(await play('duplex', value)).toEqual({ duplex: 'wire', socket: value })
  })
})
