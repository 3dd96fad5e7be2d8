import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { runNode } from '../support/clients/child.ts'
import { lacksPackages, resolvePackage } from '../support/clients/packages.ts'
import { REFUSED_STREAM } from '../support/peers/error-codes.ts'
import { startServer } from '../support/servers/server.ts'
import { BASICS } from './children/basics.ts'

const children = new URL('./children/', import.meta.url)
let folder = ''

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'dodici-fake-timers-'))
  const common = { outdir: folder, bundle: true, platform: 'node', target: 'node20' } as const
  const toEntry = (name: string): string => fileURLToPath(new URL(name, children))
  await build({
    ...common,
    entryPoints: [toEntry('faked.ts')],
    outExtension: { '.js': '.mjs' },
    // What is imported late stays a file of its own, and isn't run before.
    splitting: true,
    format: 'esm',
    banner: {
      js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url)",
    },
  })
  await build({
    ...common,
    entryPoints: [toEntry('in-jest.mjs')],
    outExtension: { '.js': '.test.cjs' },
    format: 'cjs',
    external: ['@jest/globals'],
  })
})

afterAll(() => rm(folder, { recursive: true, force: true }))

async function start(): Promise<string> {
  const refused = new WeakSet()
  const { origin } = await startServer((stream, headers) => {
    const { ':method': method, ':path': path } = headers
    if (path === '/hang') return
    if (path === '/refused' && stream.session !== undefined && !refused.has(stream.session)) {
      refused.add(stream.session)
      stream.close(REFUSED_STREAM)
      return
    }
    stream.respond({ ':status': 200 })
    stream.write(`${method} ${path}`)
    if (method === 'GET') stream.end()
    else stream.write(' ')
    if (method !== 'GET') stream.pipe(stream)
  })
  return origin
}

describe('when time is faked', () => {
  it.each([
    'early',
    'late',
  ])('by sinon, %s, every API works, and uses none of the fake timers', async (when) => {
    const { code, stdout, stderr } = await runNode(join(folder, 'faked.mjs'), await start(), when)
    expect([code, stderr]).toEqual([0, ''])
    const reports = stdout
      .trimEnd()
      .split('\n')
      .map((line): unknown => JSON.parse(line))
    expect(reports.slice(0, 2)).toEqual([BASICS, BASICS])
    // Modules of Node that are loaded under fakes get the real ones, too.
    expect(reports[2]).toEqual({ timers: 0 })
  })

  it.skipIf(lacksPackages('user-tools')).each([
    ['nowhere', {}],
    ['late', {}],
    ['everywhere', { fakeTimers: { enableGlobally: true } }],
  ])('by jest, %s, every API works', async (FAKES, more) => {
    const config = {
      ...more,
      rootDir: folder,
      cache: false,
      globals: { ORIGIN: await start(), FAKES },
      testEnvironment: 'node',
      testRegex: ['in-jest\\.test\\.cjs$'],
      transform: {},
      watchman: false,
    }
    const jest = resolvePackage('user-tools', 'jest/bin/jest')
    const { code, stderr } = await runNode(jest, '--config', JSON.stringify(config), '--runInBand', '--ci')
    expect([code, code === 0 ? '' : stderr]).toEqual([0, ''])
  })
})
