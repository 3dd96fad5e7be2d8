/**
 * Eight programs that were written for undici 8. With the import changed, and nothing else, they print the same.
 */

import { describe, expect, it } from 'vitest'
import { findNodeForUndici8, makeProject, readProgram, run } from './rig.ts'
import { startServers } from './servers.ts'

const PROGRAMS = ['pool', 'files', 'mocks', 'fetches', 'proxies', 'interceptor', 'diagnostics', 'sockets']

async function print(source: string): Promise<string[]> {
  const servers = await startServers()
  try {
    const { stdout } = await run(makeProject('undici 8'), source, servers.addresses, findNodeForUndici8())
    return stdout.trimEnd().split('\n')
  } finally {
    servers.close()
  }
}

describe('programs written for undici 8', () => {
  it.each(PROGRAMS)('print the same with the import changed to dodici/undici: %s', async (name) => {
    const source = readProgram(name)
    const changed = source.replace("from 'undici'", "from 'dodici/undici'")
    expect(changed).not.toBe(source)
    const before = await print(source)
    expect(before.length).toBeGreaterThan(4)
    expect(await print(changed)).toEqual(before)
  })
})
