/** What is undici's own, of each version, over dispatchers of Dodici. */

import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { LOADABLE, makeProject, run } from './rig.ts'
import { startServers } from './servers.ts'

const source = readFileSync(new URL('containers.mjs', import.meta.url), 'utf8')
const CASES = [...source.matchAll(/^ {2}async (\w+)\(\) \{$/gm)].map(([, name = '']) => name)
/** What undici 6 doesn't have. */
const FROM_7 = ['snapshotAgent', 'cacheStores', 'roundRobinPool']

describe.each(LOADABLE)('with %s', (version) => {
  const names = CASES.filter((name) => version !== 'undici 6' || !FROM_7.includes(name))

  it.each(names)('%s', async (name) => {
    const servers = await startServers()
    try {
      const { stdout } = await run(makeProject(version), source, { ...servers.addresses, CASE: name })
      expect(stdout).toBe('passed\n')
    } finally {
      servers.close()
    }
  })
})

it('there are cases', () => {
  expect(CASES).toEqual(expect.arrayContaining(FROM_7))
  expect(CASES.length).toBeGreaterThan(18)
})
