import { createHash } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import type { EngineName } from '../../../types/index.ts'
import type { Exit } from '../../support/clients/child.ts'
import { runNode } from '../../support/clients/child.ts'
import { ENGINES } from '../../support/clients/engines.ts'
import { toRounds } from '../../support/clocks/sample.ts'
import { describePlan, toPlan } from './plan.ts'

/** The same as `npm run fuzz -- --clients`, but short: that one runs as long as you like. */
const ROUNDS = toRounds(100, 40)
/** With a model server. */
const MODEL_ROUNDS = toRounds(40, 16)

interface Kept {
  readonly seed: number
  readonly engine: EngineName
  /**
   * The hash of its plan. If it differs, the plans are made otherwise now, and the seed no longer plays what it once
   * found.
   */
  readonly digest: string
  readonly found: string
}

/** Rounds that have failed once. */
const KEPT: readonly Kept[] = [
  {
    seed: 78,
    engine: 'wire',
    digest: '1cd2ec5a',
    found: 'a body that told its error, and closed, before the `await` of its request went on',
  },
  {
    seed: 588,
    engine: 'wire',
    digest: '48eb35f1',
    found:
      'the error of a tunnel, reset in the segment of its response, that was uncaught: `await` had not gone on',
  },
  {
    seed: 6_000_332,
    engine: 'wire',
    digest: '7da8e4e2',
    found: 'the same of a tunnel whose connection was lost to a PUSH_PROMISE in the segment of its response',
  },
  {
    seed: 89,
    engine: 'wire',
    digest: 'e46e542a',
    found: 'DATA that was sent behind the GOAWAY of a connection error',
  },
  {
    seed: 2_175,
    engine: 'wire',
    digest: '7b63e288',
    found: 'an upload whose source was kept when the session died under a response that had come whole',
  },
  {
    seed: 18,
    engine: 'node',
    digest: '64b03307',
    found: 'on Node 20 a PING whose time was over before its alarm rang, and that was never judged',
  },
  {
    seed: 183,
    engine: 'node',
    digest: '23bcfc2f',
    found: 'a body that told its error, and closed, before the `await` of its request went on',
  },
  {
    seed: 6_000_287,
    engine: 'node',
    digest: 'dcfa505e',
    found: 'the error of a tunnel, lost with its connection, that was uncaught',
  },
  {
    seed: 6_000_796,
    engine: 'node',
    digest: '1975fea1',
    found: 'the same of a tunnel whose peer sent GOAWAY with HTTP_1_1_REQUIRED',
  },
  {
    seed: 7_000_188,
    engine: 'node',
    digest: 'c8a0e658',
    found:
      'on Node 20 a session that had sent its GOAWAY, and heard of nothing more, not even that TCP was reset: ' +
      'calls waited for it, `close()` never settled, and its socket stayed open',
  },
  {
    seed: 76_867_200,
    engine: 'wire',
    digest: '7731f5bb',
    found: 'an alarm that held the process for a session that was closed',
  },
]

function play(...args: string[]): Promise<Exit> {
  return runNode(fileURLToPath(new URL('../../../scripts/fuzz.mjs', import.meta.url)), ...args)
}

function fuzz(...args: string[]): Promise<Exit> {
  return play('--clients', ...args)
}

function digest({ seed, engine }: Kept): string {
  return createHash('sha256')
    .update(describePlan(toPlan(seed, engine)))
    .digest('hex')
    .slice(0, 8)
}

describe.each(ENGINES)('clients on engine %s whose peers send anything at all', (engine) => {
  it(`when ${ROUNDS} rounds are played › each call ends once, nothing is left, and the frames are valid`, async () => {
    const exit = await fuzz('--engine', engine, '--seed', '1', '--rounds', String(ROUNDS), '--keep-going')
    expect(exit.stdout).toContain(`${ROUNDS} rounds from seed 1 in`)
    expect(exit).toMatchObject({ code: 0, stdout: expect.stringMatching(/; all held\n$/) })
  })

  it('when rounds are played that have failed once › they hold', async () => {
    const kept = KEPT.filter((one) => one.engine === engine)
    const seeds = kept.map(({ seed }) => seed).join(',')
    const exit = await fuzz('--engine', engine, '--seeds', seeds, '--keep-going', '--collect')
    expect(exit.stdout).toContain(`${kept.length} rounds from seed`)
    expect(exit).toMatchObject({ code: 0, stdout: expect.stringMatching(/; all held\n$/) })
  })
})

describe.each(ENGINES)('clients on engine %s with a model server', (engine) => {
  it.each([
    ['legal', 'each call gets its own response, and each request arrives once'],
    ['illegal', 'each call ends, none with wrong octets, and the next server is reached'],
  ])('when it is %s, in some rounds › %s', async (model) => {
    const exit = await play(
      '--model',
      model,
      '--engine',
      engine,
      '--seed',
      '1',
      '--rounds',
      `${MODEL_ROUNDS}`,
      '--keep-going',
    )
    expect(exit.stdout).toContain(`${MODEL_ROUNDS} rounds from seed 1 in`)
    expect(exit).toMatchObject({ code: 0, stdout: expect.stringMatching(/; all held\n$/) })
  })
})

it.each(KEPT)('the plan of seed $seed, engine $engine, is still the one that found: $found', (kept) => {
  expect(digest(kept)).toBe(kept.digest)
})
