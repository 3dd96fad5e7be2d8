/** The recipes of docs/integrations.md for clients that take a fetch: each runs as printed, over HTTP/2. */

import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import http2 from 'node:http2'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { CLAUDE_MESSAGE, GPT_COMPLETION } from '../../interop/libraries-responses.ts'
import { lacksPackages } from '../../support/clients/packages.ts'
import { toCertificate } from '../../support/servers/server.ts'
import { findSnippets, readRepository } from '../testing-page/page.ts'

const root = fileURLToPath(new URL('../../../', import.meta.url))
const SNIPPETS = findSnippets(readRepository('docs/integrations.md'))

/** Each package, where it is installed, and what its recipe prints. */
const RECIPES = [
  { name: 'ky', from: 'node_modules', prints: "{ name: 'Ada' }" },
  { name: 'axios', from: 'node_modules', prints: "{ name: 'Ada' }" },
  { name: 'openai', from: 'node_modules', prints: 'Hello.' },
  { name: '@anthropic-ai/sdk', from: 'node_modules', prints: 'Hello.' },
  { name: 'gaxios', from: 'test/interop/grpc-clients/node_modules', prints: "{ name: 'Ada' }" },
]

const folder = mkdtempSync(join(tmpdir(), 'dodici-recipes-'))
const versions: string[] = []
const server: { origin: string; close(): void } = { origin: '', close: () => {} }

beforeAll(async () => {
  const { private: key, cert } = await toCertificate()
  writeFileSync(join(folder, 'ca.pem'), cert)
  const secure = http2.createSecureServer({ key, cert, allowHTTP1: true }, (request, response) => {
    versions.push(request.httpVersion)
    response.setHeader('content-type', 'application/json')
    const path = String(request.url)
    if (path.endsWith('/chat/completions')) response.end(JSON.stringify(GPT_COMPLETION))
    else if (path.endsWith('/messages')) response.end(JSON.stringify(CLAUDE_MESSAGE))
    else request.pipe(response)
  })
  secure.listen(0, '127.0.0.1')
  await once(secure, 'listening')
  server.origin = `https://localhost:${(secure.address() as AddressInfo).port}`
  server.close = () => secure.close()
  for (const { name, from } of RECIPES) {
    const link = join(folder, 'node_modules', name)
    mkdirSync(dirname(link), { recursive: true })
    symlinkSync(join(root, from, name), link)
  }
  symlinkSync(root, join(folder, 'node_modules/dodici'))
})

beforeEach(() => {
  versions.length = 0
})

afterAll(() => {
  server.close()
  rmSync(folder, { recursive: true })
})

describe.each(RECIPES)('$name', ({ name, from, prints }) => {
  it.skipIf(from !== 'node_modules' && lacksPackages('grpc-clients'))('goes over HTTP/2', async () => {
    const [snippet, ...others] = SNIPPETS.filter(({ code }) => code.includes(`from '${name}'`))
    expect(others).toEqual([])
    const file = join(folder, 'recipe.mjs')
    writeFileSync(file, snippet?.code.replaceAll('https://example.com', server.origin) ?? '')
    const { stdout } = await promisify(execFile)(process.execPath, [file], {
      env: {
        ...process.env,
        NODE_OPTIONS: '',
        NO_COLOR: '1',
        NODE_EXTRA_CA_CERTS: join(folder, 'ca.pem'),
        OPENAI_API_KEY: 'key',
        OPENAI_BASE_URL: `${server.origin}/v1`,
        ANTHROPIC_API_KEY: 'key',
        ANTHROPIC_BASE_URL: server.origin,
      },
    })
    expect(stdout.trim()).toBe(prints)
    expect(versions).toEqual(['2.0'])
  })
})
