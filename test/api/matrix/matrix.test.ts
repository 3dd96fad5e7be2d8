import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ENGINES } from '../../support/clients/engines.ts'
import { sample } from '../../support/clocks/sample.ts'
import type { Api } from './apis.ts'
import { APIS } from './apis.ts'
import type { BodyKind } from './bodies.ts'
import { BODY_KINDS } from './bodies.ts'
import { Case } from './case.ts'
import { ABORTS, DEATHS, THROWS, TIMEOUTS } from './failures.ts'
import type { Outcome } from './outcome.ts'
import { CLOSES, RESPONSES } from './responses.ts'
import { Rig } from './rig.ts'

const OUTCOMES: readonly Outcome[] = [...RESPONSES, ...CLOSES, ...ABORTS, ...TIMEOUTS, ...THROWS, ...DEATHS]

/** Why a cell of the matrix is left out; null if it isn't. */
function leftOut(api: Api, kind: BodyKind, outcome: Outcome): string | null {
  if (api.kind === 'tunnel' && kind.name !== 'none')
    return 'a tunnel has no body: what is written to it is its own'
  if (api.kind === 'pipeline' && kind.of !== 'pipeline') return 'its body is what is written to the duplex'
  if (api.kind !== 'pipeline' && kind.of === 'pipeline') return 'there is no duplex to write to'
  if (outcome.extent === 'held' && kind.isEmpty) return 'there is nothing to hold'
  if (outcome.onPull !== undefined && !kind.hasCode) return "none of the caller's code runs in it"
  return outcome.leftOut?.(api, kind) ?? null
}

const ROWS = APIS.flatMap((api) =>
  OUTCOMES.map((outcome) => {
    const kinds = BODY_KINDS.filter((kind) => leftOut(api, kind, outcome) === null)
    return { row: `${api.name} × ${outcome.name}`, api, outcome, kinds }
  }),
).filter(({ kinds }) => kinds.length > 0)

/** The running case: uncaught exceptions belong to it. */
let running: Case | null = null
const onRejection = (reason: unknown): void => void running?.uncaught.push(reason)

beforeEach(() => {
  // The test's runner must not see the exceptions that a callback throws on purpose.
  process.setUncaughtExceptionCaptureCallback((error) => running?.uncaught.push(error))
  process.on('unhandledRejection', onRejection)
})

afterEach(() => {
  process.setUncaughtExceptionCaptureCallback(null)
  process.off('unhandledRejection', onRejection)
})

it('the matrix has all its cells', () => {
  // A predicate that leaves out too much would leave no other trace.
  const cells = ROWS.reduce((sum, { kinds }) => sum + kinds.length, 0)
  expect([ROWS.length, cells]).toEqual([290, 2459])
})

describe.each(ENGINES)('on engine %s', (engine) => {
  it.each(ROWS.map((row) => [row.row, row] as const))('%s', async (_name, { api, outcome, kinds }) => {
    const isConnected = outcome.stage !== 'connecting'
    const start = (): Promise<Rig> => Rig.start({ engine }, isConnected)
    const shared = isConnected && outcome.death === undefined ? await start() : null
    const cases: Case[] = []
    const turn = ROWS.findIndex((row) => row.outcome === outcome && row.api === api)
    try {
      for (const [index, kind] of sample([...kinds.entries()], { usual: 3, sample: 9 }, turn)) {
        // Both kinds of signal meet each kind of body, by the two forms of an API.
        const signalKind = (index % 2 === 0) === api.hasCallback ? 'EventEmitter' : 'AbortSignal'
        running = new Case(shared ?? (await start()), api, kind, outcome, signalKind)
        cases.push(running)
        await running.run()
      }
      // Later cases have given the earlier ones the time to settle once more.
      for (running of cases) running.checkHeard()
    } catch (thrown) {
      throw new Error(`${running?.name}: ${thrown instanceof Error ? thrown.message : thrown}`, {
        cause: thrown,
      })
    }
  })
})
