/**
 * What lives on of a call that is over, until the next full garbage collection. A function literal that is assigned to a
 * property, a value of a WeakMap and what a FinalizationRegistry watches survive each scavenge, with all that they can reach:
 * docs/internals/node-streams.md. The code isn't optimized here, since TurboFan takes some of these functions away.
 */
import { execFileSync } from 'node:child_process'
import { beforeAll, describe, expect, it } from 'vitest'
import { bundle } from '../support/clients/bundled.ts'

const IS_NODE_20 = process.versions.node.startsWith('20.')

/**
 * Bytes of a call that may survive, on Node 20 and from 22 on: halfway between what was measured and what it was before the links
 * were cut. On Node 20 most of it is the caller's AbortController, and of fetch() all.
 */
const MOST: readonly (readonly [name: string, on20: number, later: number])[] = [
  ['request()', 1_200, 1_200],
  ['request() with an AbortSignal', 3_500, 1_300],
  ['request() with an EventEmitter', 2_600, 1_300],
  ['dump() with an AbortSignal', 2_600, 1_300],
  ['stream()', 1_200, 1_300],
  ['pipeline()', 2_800, 2_200],
  ['fetch()', 1_200, 1_200],
  ['fetch() with an AbortSignal', 2_600, 400],
]

const toPath = bundle({ survivors: new URL('children/survivors.ts', import.meta.url) }, true)
let survivors: Readonly<Record<string, number>> = {}

beforeAll(() => {
  const out = execFileSync(process.execPath, ['--no-opt', '--expose-gc', toPath('survivors')], {
    encoding: 'utf8',
    env: { ...process.env, NODE_OPTIONS: '' },
  })
  survivors = JSON.parse(out).survivors
})

describe('a call that is over', () => {
  it('was measured in each way', () => {
    expect(Object.keys(survivors)).toEqual(MOST.map(([name]) => name))
  })

  it.each(MOST)('of %s leaves little behind', (name, on20, later) => {
    expect(survivors[name]).toBeLessThan(IS_NODE_20 ? on20 : later)
  })
})
