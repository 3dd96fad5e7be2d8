/** The end of a response, or a break: each response × each break × each way to read it. */

import { describe, expect, it } from 'vitest'
import { ENGINES } from '../../support/clients/engines.ts'
import { inTurn } from '../../support/clocks/sample.ts'
import type { Break, Response } from './cases.ts'
import { BREAKS, canFollow, isSilent, RESPONSES, TUNNEL_BREAKS, TUNNEL_RESPONSES } from './cases.ts'
import type { Case } from './play.ts'
import { playAll, toAccepted, toCase, toTunnelAccepted } from './play.ts'
import type { Reader } from './readers.ts'
import { READERS, TUNNEL_READERS, WEB_SOCKETS } from './readers.ts'
import type { Cut, Engine } from './scene.ts'
import { Stage } from './scene.ts'

const CUTS = ['one segment', 'two segments'] as const satisfies readonly Cut[]

/** Each response × each break, and the cuts in turn. */
function toProduct(
  engine: Engine,
  reader: Reader,
  responses: readonly Response[],
  breaks: readonly Break[],
  accept: (response: Response, broken: Break) => readonly string[],
): Case[] {
  return responses.flatMap((response, turn) =>
    breaks
      .filter((broken) => canFollow(response, broken) && !isSilent(engine, broken))
      .flatMap((broken, at) =>
        inTurn(CUTS, turn + at).map((cut) =>
          toCase({ reader, response, broken, cut }, accept(response, broken)),
        ),
      ),
  )
}

describe.each(ENGINES)('on engine %s', (engine) => {
  describe('a response that ends or breaks at once after the event that its caller waits for', () => {
    it.each(Object.entries(READERS))('when read by %s › reports its ending, once', async (_name, reader) => {
      const cases = toProduct(engine, reader, RESPONSES, BREAKS, toAccepted)
      expect(await playAll(await Stage.start(engine, 'TCP'), cases)).toEqual([])
    })
  })

  describe('a tunnel that ends or breaks at once after its 200', () => {
    it.each(
      Object.entries(TUNNEL_READERS),
    )('when read by %s › reports its ending, once', async (_name, reader) => {
      const cases = toProduct(engine, reader, TUNNEL_RESPONSES, TUNNEL_BREAKS, toTunnelAccepted)
      expect(await playAll(await Stage.start(engine, 'TCP'), cases)).toEqual([])
    })

    it.each(
      Object.entries(WEB_SOCKETS),
    )('when it is a WebSocket of %s › closes it, once', async (_name, reader) => {
      const cases = toProduct(engine, reader, TUNNEL_RESPONSES, TUNNEL_BREAKS, () => ['close'])
      expect(await playAll(await Stage.start(engine, 'TCP'), cases)).toEqual([])
    })
  })

  describe.each(['TLS', 'Duplex'] as const)('over %s', (transport) => {
    // Over a Duplex there is engine wire alone: a client gets it that names no engine.
    const isUnnamed = engine === 'node' && transport === 'Duplex'
    const named = isUnnamed ? undefined : engine
    const runs: Engine = isUnnamed ? 'wire' : engine

    /** Each reader with each break, and the responses and cuts in turn. */
    function toPairs(
      readers: readonly Reader[],
      responses: readonly Response[],
      breaks: readonly Break[],
      accept: (response: Response, broken: Break) => readonly string[],
    ): Case[] {
      let turn = 0
      return readers.flatMap((reader) =>
        breaks.flatMap((broken) => {
          const response = responses[turn++ % responses.length] as Response
          const cut = CUTS[turn % CUTS.length] as Cut
          const mayPlay = canFollow(response, broken) && !isSilent(runs, broken)
          return mayPlay ? [toCase({ reader, response, broken, cut }, accept(response, broken))] : []
        }),
      )
    }

    it('when a response ends or breaks › each reader reports it, once', async () => {
      const cases = toPairs(Object.values(READERS), RESPONSES, BREAKS, toAccepted)
      expect(await playAll(await Stage.start(named, transport), cases)).toEqual([])
    })

    it('when a tunnel ends or breaks › each reader reports it, once', async () => {
      const cases = toPairs(Object.values(TUNNEL_READERS), TUNNEL_RESPONSES, TUNNEL_BREAKS, toTunnelAccepted)
      expect(await playAll(await Stage.start(named, transport), cases)).toEqual([])
    })

    if (isUnnamed) {
      it('when the client names the engine › each reader reports the refusal, once', async () => {
        const refused = (): string[] => ['error']
        const cases = [
          ...toPairs(Object.values(READERS), RESPONSES, BREAKS, refused),
          ...toPairs(Object.values(TUNNEL_READERS), TUNNEL_RESPONSES, TUNNEL_BREAKS, refused),
        ]
        expect(await playAll(await Stage.start(engine, transport), cases)).toEqual([])
      })
    }
  })
})
