/**
 * Runs each pair of programs of docs/migrating.md: before and after, they print the same.
 */

import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import http2 from 'node:http2'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { toCertificate } from '../support/servers/server.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const docs = readFileSync(join(root, 'docs/migrating.md'), 'utf8')

interface Pair {
  /** Its heading, behind that of its section. */
  readonly name: string
  readonly before: string
  readonly after: string
}

/** Each `###` has a program before and one after. */
function toPairs(text: string): Pair[] {
  return text.split(/^## /m).flatMap((section) => {
    const [title = ''] = section.split('\n')
    return section
      .split(/^### /m)
      .slice(1)
      .map((part) => {
        const [before = '', after = ''] = [...part.matchAll(/^```js [^\n]*\n(.*?)^```$/gms)].map(
          ([, code = '']) => code,
        )
        return { name: `${title} › ${part.split('\n')[0]}`, before, after }
      })
  })
}

const folder = mkdtempSync(join(tmpdir(), 'dodici-migrating-'))
const server: { origin: string; close(): void } = { origin: '', close: () => {} }

/** Speaks HTTP/2 and HTTP/1.1. */
beforeAll(async () => {
  const { private: key, cert } = await toCertificate()
  writeFileSync(join(folder, 'ca.pem'), cert)
  const secure = http2.createSecureServer({ key, cert, allowHTTP1: true }, (request, response) => {
    response.setHeader('content-type', 'application/json')
    if (request.url === '/items') {
      response.end(JSON.stringify([{ id: 1 }, { id: 2 }]))
    } else if (request.url === '/echo') {
      request.pipe(response)
    } else {
      response.statusCode = request.url === '/length' ? 200 : 404
      request.resume().on('end', () => response.end())
    }
  })
  secure.listen(0, '127.0.0.1')
  await once(secure, 'listening')
  server.origin = `https://localhost:${(secure.address() as AddressInfo).port}`
  server.close = () => secure.close()
})

afterAll(() => {
  server.close()
  rmSync(folder, { recursive: true })
})

async function run(program: string): Promise<string> {
  const code = program.replaceAll('https://example.com', server.origin)
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', code], {
    cwd: root,
    env: { ...process.env, NODE_OPTIONS: '', NODE_EXTRA_CA_CERTS: join(folder, 'ca.pem'), NO_COLOR: '1' },
  })
  return stdout
}

describe('docs/migrating.md', () => {
  const pairs = toPairs(docs)

  it('has pairs of programs', () => {
    expect(pairs.length).toBeGreaterThan(7)
    for (const { before, after } of pairs) {
      expect(before).not.toMatch(/from 'dodici/)
      expect(after).toMatch(/from 'dodici/)
    }
  })

  it.each(pairs)('$name: both print the same', async ({ before, after }) => {
    const printed = await run(before)
    expect(printed).not.toBe('')
    expect(await run(after)).toBe(printed)
  })
})
