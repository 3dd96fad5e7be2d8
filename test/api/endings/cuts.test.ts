/** The same as in endings.test.ts, with the peer's bytes cut into segments at each byte. */

import { describe, expect, it } from 'vitest'
import { ENGINES } from '../../support/clients/engines.ts'
import { sample } from '../../support/clocks/sample.ts'
import type { Break, Response } from './cases.ts'
import { BREAKS, canFollow, isSilent, RESPONSES, TUNNEL_BREAKS, TUNNEL_RESPONSES } from './cases.ts'
import type { Case } from './play.ts'
import { playAll, toAccepted, toCase, toTunnelAccepted } from './play.ts'
import type { Reader } from './readers.ts'
import { READERS, TUNNEL_READERS } from './readers.ts'
import type { Engine } from './scene.ts'
import { Stage } from './scene.ts'

/** Of any stream: the number of bytes is the same. */
const STREAM_ID = 1

function toCuts(
  engine: Engine,
  reader: Reader | undefined,
  response: Response,
  breaks: readonly Break[],
  accept: (response: Response, broken: Break) => readonly string[],
): Case[] {
  if (reader === undefined) throw new Error('There is no such reader')
  return breaks
    .filter((broken) => canFollow(response, broken) && !isSilent(engine, broken))
    .flatMap((broken, turn) => {
      const bytes = Buffer.concat([...response.toBytes(STREAM_ID), ...broken.toBytes(STREAM_ID)])
      const cuts = Array.from({ length: bytes.length - 1 }, (_, at) => at + 1)
      return sample(cuts, { usual: 4, sample: 16 }, turn).map((cut) =>
        toCase({ reader, response, broken, cut }, accept(response, broken)),
      )
    })
}

describe.each(ENGINES)('on engine %s, with the bytes of the peer cut at each byte', (engine) => {
  describe.each(['request(), events', 'request(), text()'])('a response read by %s', (name) => {
    it.each(RESPONSES)('when $name has come › ends once', async (response) => {
      const cases = toCuts(engine, READERS[name], response, BREAKS, toAccepted)
      expect(await playAll(await Stage.start(engine, 'TCP'), cases)).toEqual([])
    })
  })

  it.each(TUNNEL_RESPONSES)('a tunnel, when $name has come › ends once', async (response) => {
    const reader = TUNNEL_READERS['connect(), events']
    const cases = toCuts(engine, reader, response, TUNNEL_BREAKS, toTunnelAccepted)
    expect(await playAll(await Stage.start(engine, 'TCP'), cases)).toEqual([])
  })
})
