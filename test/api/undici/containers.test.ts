/** What is undici's own, of each version, over dispatchers of Dodici. */

import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import type { Version } from './rig.ts'
import { makeProject, PLAYED, run } from './rig.ts'
import { startServers } from './servers.ts'

const source = readFileSync(new URL('containers.mjs', import.meta.url), 'utf8')
const CASES = [...source.matchAll(/^ {2}async (\w+)\(\) \{$/gm)].map(([, name = '']) => name)
/** What undici 6 doesn't have. */
const FROM_7 = ['snapshotAgent', 'cacheStores', 'roundRobinPool']
/** What sets a global of the process, the dispatcher among them, has a process by itself. The others share one. */
const ALONE = [
  ...['mockAgent', 'eventSource', 'oneGlobalDispatcher', 'globalDispatcherOfOthers', 'patched', 'installed'],
  'foreignGlobal',
]

/** Runs cases in one process, each with its own servers, and settles with what it says of them. */
async function play(version: Version, names: readonly string[]): Promise<string> {
  const servers = await Promise.all(names.map(startServers))
  try {
    const cases = names.map((name, at) => ({ name, ...servers[at]?.addresses }))
    const [first] = cases
    const env = { CA: first?.CA, CASES: JSON.stringify(cases) }
    return (await run(makeProject(version), source, env)).stdout
  } finally {
    for (const one of servers) one.close()
  }
}

describe.each(PLAYED)('with %s', (version) => {
  const names = CASES.filter((name) => version !== 'undici 6' || !FROM_7.includes(name))
  const together = names.filter((name) => !ALONE.includes(name))
  let played: Promise<string> | null = null

  it.each(names)('%s', async (name) => {
    if (ALONE.includes(name)) {
      expect(await play(version, [name])).toBe(`${name} passed\n`)
    } else {
      played ??= play(version, together)
      expect((await played).split('\n')).toContain(`${name} passed`)
    }
  })
})

it('there are cases', () => {
  expect(CASES).toEqual(expect.arrayContaining([...FROM_7, ...ALONE]))
  expect(CASES.length).toBeGreaterThan(18)
})
