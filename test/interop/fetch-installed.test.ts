import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { runNode } from '../support/clients/child.ts'
import { UNDICIS } from './fetch-fetches.ts'
import type { InteropServer } from './fetch-servers.ts'
import { Cleaner, makeFolder, startServer } from './fetch-servers.ts'

const root = new URL('../../', import.meta.url)
const child = fileURLToPath(new URL('./children/fetch-installed.mjs', import.meta.url))

const FILE_RESPONSE = 'HTTP/2.0 the content of a file'
/** A dispatcher that isn't ours doesn't trust the server: so the outcome tells which one served. */
const UNTRUSTED = 'DEPTH_ZERO_SELF_SIGNED_CERT'

/**
 * undici 8 makes no dispatcher of its own where it finds ours, and Node's own undici has none in that place before Node
 * 24: so it has none once ours is gone (docs/fetch.md).
 */
function hasNone(fetch: string): boolean {
  return fetch === 'undici-8' && Number.parseInt(process.versions.node, 10) < 24
}

const cleaner = new Cleaner()
let server: InteropServer
let esm = ''
let cjs = ''
let certificate = ''

beforeAll(async () => {
  const { path } = await makeFolder(cleaner, 'installed')
  server = await startServer('node', cleaner)
  certificate = join(path, 'certificate.pem')
  await writeFile(certificate, server.ca)
  const toCopy = async (format: 'esm' | 'cjs'): Promise<string> => {
    const outfile = join(path, format === 'esm' ? 'index.mjs' : 'index.cjs')
    const entryPoints = [fileURLToPath(new URL('src/index.ts', root))]
    await build({ entryPoints, outfile, format, bundle: true, platform: 'node', target: 'node20' })
    return outfile
  }
  // As in `dist/`, and of the sources as they are.
  esm = await toCopy('esm')
  cjs = await toCopy('cjs')
})

afterAll(() => cleaner.clean())

/** What a fresh process reports, which ends by itself. */
async function run(what: string, fetch = 'built-in'): Promise<unknown> {
  const from = fileURLToPath(root)
  const { code, signal, stdout, stderr } = await runNode(
    child,
    ...[what, esm, cjs, server.origin, certificate, from, fetch],
  )
  expect(stderr).toBe('')
  expect([code, signal]).toEqual([0, null])
  const facts: unknown = JSON.parse(stdout)
  return facts
}

describe.each(['built-in', ...UNDICIS])('when the fetch is %s', (fetch) => {
  it('it speaks HTTP/2 by an agent that was installed before it was ever used, until that is uninstalled', async () => {
    expect(await run('before', fetch)).toEqual({
      installed: FILE_RESPONSE,
      wasUsed: true,
      isLeft: false,
      uninstalled: hasNone(fetch) ? expect.stringContaining('assert(dispatcher)') : UNTRUSTED,
    })
  })

  it('it speaks HTTP/2 by an agent that was installed after its first use, until that is uninstalled', async () => {
    expect(await run('after', fetch)).toEqual({
      before: UNTRUSTED,
      isThere: true,
      installed: FILE_RESPONSE,
      wasUsed: true,
      isRestored: true,
      isLeft: false,
      uninstalled: UNTRUSTED,
    })
  })

  it('it uses the agent that was installed last, and uninstall() removes all at once', async () => {
    expect(await run('twice', fetch)).toEqual({
      installed: FILE_RESPONSE,
      used: [false, true],
      isRestored: true,
      uninstalled: UNTRUSTED,
    })
  })

  it('the ESM and the CJS copy in one process share the installed dispatcher', async () => {
    expect(await run('copies', fetch)).toEqual({
      areTwo: true,
      installed: [FILE_RESPONSE, FILE_RESPONSE, FILE_RESPONSE, FILE_RESPONSE],
      isRestored: [true, true, true, true, true, true],
      uninstalled: UNTRUSTED,
    })
  })
})

describe('when the package is imported, and nothing is installed', () => {
  it('both places stay empty if Node has put nothing there', async () => {
    expect(await run('import')).toEqual({ before: [null, null], after: [null, null], isLoaded: true })
  })

  it('both places stay as they are if Node has put a dispatcher there', async () => {
    const facts = await run('importLate')
    const { before } = Object(facts)
    expect(facts).toEqual({ isSame: true, before, after: before })
  })
})

it('when other code has changed a place since, uninstall() restores only the other one', async () => {
  expect(await run('foreign')).toEqual({ theirs: [true, true], isKept: true })
})
