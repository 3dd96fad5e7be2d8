/** Several origins of one broker, and one server for all of them. */

import { onTestFinished } from 'vitest'
import type { CoalesceRules } from '../../src/options/coalesce.ts'
import { SessionBroker } from '../../src/session/sharing/session-broker.ts'
import type { PoolOptions } from '../../types/index.ts'
import { Harness } from '../support/clients/engines.ts'
import type { Recorder } from '../support/clients/recorder.ts'
import { FakeClock } from '../support/clocks/fake-clock.ts'
import { PATIENT } from '../support/peers/peer-rig.ts'
import type { NamesOptions, NamesServer } from '../support/servers/shared-names.ts'
import { startNames, toNamesLookup } from '../support/servers/shared-names.ts'

/** The first one's session is opened first. */
export const NAMES = ['a.shared.test', 'b.shared.test', 'c.shared.test']
/** All names are on this machine. */
export const HERE = { '*': ['127.0.0.1'] }

export interface Rig {
  readonly server: NamesServer & { readonly lookup: ReturnType<typeof toNamesLookup> }
  readonly clock: FakeClock
  readonly harnesses: readonly Harness[]
}

/** Three origins of one broker, whose clock is the test's. `connect` of the options is added to what they need. */
export async function toRig(
  engine: 'node' | 'wire',
  options: PoolOptions = {},
  more: Partial<NamesOptions> = {},
  wallClock?: () => number,
  rules: CoalesceRules = { origins: 'both', skipDns: false },
): Promise<Rig> {
  const server = await startNames({ names: NAMES, ...more })
  const clock = new FakeClock()
  const broker = new SessionBroker(rules, clock, wallClock)
  const lookup = toNamesLookup(HERE)
  const connect = { ca: server.ca, lookup, ...options.connect }
  const harnesses = NAMES.map((name) => {
    const all = { ...PATIENT, engine, ...options, connect }
    const harness = new Harness(server.toOrigin(name), all, clock, broker.toSession)
    onTestFinished(() => harness.scheduler.destroy(null))
    return harness
  })
  return { server: { ...server, lookup }, clock, harnesses }
}

/** @returns the call, once it has settled */
export async function ask(harness: Harness | undefined, path = '/'): Promise<Recorder> {
  const call = dispatch(harness, path)
  await call.settled
  return call
}

export function dispatch(harness: Harness | undefined, path: string): Recorder {
  if (harness === undefined) throw new TypeError('There is no such origin')
  return harness.dispatch({ path })
}

/** Lets what is due in this turn of the event loop happen: a look-up of the rig's, for example. */
export async function nextTurn(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve))
}
