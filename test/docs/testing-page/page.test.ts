/** docs/testing.md: its tables have the names of the code, its quotes are the files, and its snippets do what they say. */

import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import ts from 'typescript'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import * as dodici from '../../../src/index.ts'
import * as testing from '../../../src/testing/index.ts'
import { ALERTS } from '../../../src/testing/tls-transport.ts'
import { toCertificate } from '../../support/servers/server.ts'
import type { Snippet } from './page.ts'
import { findNames, findSnippets, PAGE, readRepository, SNIPPETS, TYPESCRIPT } from './page.ts'

const require = createRequire(import.meta.url)
const TABLES = { BAD_FRAMES: testing.BAD_FRAMES, BAD_HEADERS: testing.BAD_HEADERS, FLOODS: testing.FLOODS }
const MODULES: Readonly<Record<string, unknown>> = { dodici, 'dodici/testing': testing }

/** What the client gets for the paths that snippets name, where that isn't 200: a status, a body, or an error's code. */
const OUTCOMES: Readonly<Record<string, string>> = {
  '/slow': '503',
  '/respond': '404',
  '/old': 'DODICI_ERR_STREAM',
  '/never': 'UND_ERR_HEADERS_TIMEOUT',
  '/black-hole': 'UND_ERR_HEADERS_TIMEOUT',
  '/cut-off': 'UND_ERR_BODY_TIMEOUT',
  '/reset': 'DODICI_ERR_STREAM',
  '/truncated': 'DODICI_ERR_STREAM',
  '/short': 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH',
  '/bomb': 'UND_ERR_HEADERS_OVERFLOW',
  '/tiny-frames': 'UND_ERR_BODY_TIMEOUT',
  '/bad-headers': 'DODICI_ERR_STREAM',
  '/bad-hpack': 'UND_ERR_SOCKET',
  '/bad-frame': 'UND_ERR_SOCKET',
  '/push': 'UND_ERR_SOCKET',
  '/chat': 'echoed',
  'TLS that fails': 'ALERT_HANDSHAKE_FAILURE',
  "Sockets that don't speak HTTP/2": 'UND_ERR_SOCKET',
}

/** Runs a snippet, as far as it is: what it doesn't declare are `server` and `agent`. */
async function runSnippet(
  { code }: Snippet,
  server: testing.FaultServer,
  agent: dodici.Agent,
): Promise<void> {
  const { outputText } = ts.transpileModule(code, {
    compilerOptions: { module: ts.ModuleKind.CommonJS, target: ts.ScriptTarget.ES2022 },
  })
  const AsyncFunction = Object(async () => {}).constructor
  const load = (name: string): unknown => MODULES[name] ?? require(name)
  await new AsyncFunction('require', 'exports', 'server', 'agent', `{${outputText}}`)(load, {}, server, agent)
}

/** The requests that the rules of a snippet are for: `[method, path]`. */
function findRequests(code: string): [string, string][] {
  const found = [...code.matchAll(/\.(?:onRequest|refuse)\(\s*(?:\d, )?'(?:([A-Z]+) )?(\/[^']*)'/g)]
  return [...new Map(found.map(([, method = 'GET', path = '']) => [path, method]))].map(([a, b]) => [b, a])
}

async function play(agent: dodici.Agent, origin: string, method: string, path: string): Promise<string> {
  // What is served comes in time on a busy machine, too.
  const limits = { headersTimeout: 1_500, bodyTimeout: 1_500, requestTimeout: 60_000 }
  try {
    if (method === 'CONNECT') {
      const { socket } = await agent.upgrade({ origin, path, protocol: 'websocket', ...limits })
      socket.end('echoed')
      const chunks: Buffer[] = []
      for await (const chunk of socket) chunks.push(chunk)
      return Buffer.concat(chunks).toString()
    }
    const body = method === 'POST' ? 'x'.repeat(500) : null
    const response = await agent.request({ origin, method, path, body, ...limits })
    await response.body.text()
    return String(response.statusCode)
  } catch (error) {
    // Each OpenSSL has another name ahead of the alert's.
    return String(Object(error).code).replace(/^ERR_SSL_.*_(?=ALERT_)/, '')
  }
}

describe('the tables of docs/testing.md', () => {
  it.each(Object.entries(TABLES))('have the names of %s', (name, table) => {
    expect(findNames(PAGE, name)).toEqual(Object.keys(table))
  })

  it('have the names of the header bombs', () => {
    // A table that has all, by its type.
    const bombs: Readonly<Record<testing.HeaderBomb, true>> = {
      references: true,
      'many fields': true,
      'long field': true,
    }
    expect(findNames(PAGE, 'Header bombs')).toEqual(Object.keys(bombs))
  })

  it('have the presets', () => {
    const rows = [...PAGE.matchAll(/^\| `(\w+)\([^`]*\)` \|/gm)].map(([, name]) => name)
    expect(rows).toEqual(Object.keys(testing.presets))
  })

  it('the page names each alert', () => {
    expect(Object.keys(ALERTS).filter((name) => !PAGE.includes(`\`${name}\``))).toEqual([])
  })

  it('a table that lacks a name, or has another, would be noticed', () => {
    expect(findNames('\n### FLOODS\n\n| `a` | x |\n| `b` | y |\n\n### other\n\n| `c` |', 'FLOODS')).toEqual([
      'a',
      'b',
    ])
  })
})

describe('the quotes of docs/testing.md', () => {
  const quotes = SNIPPETS.filter(({ file }) => file !== null)

  it('are those of all examples', () => {
    expect(quotes.map(({ file }) => file).sort()).toEqual(
      ['jest.test.cjs', 'node.test.mjs', 'rolling-restart.test.mjs', 'shop.mjs', 'vitest.test.ts'].map(
        (name) => `examples/testing/${name}`,
      ),
    )
  })

  it.each(quotes)('$file is quoted as it is', ({ file, code }) => {
    expect(code).toBe(readRepository(String(file)).trimEnd())
  })
})

describe('the links of docs/testing.md', () => {
  it('lead to headings and files that exist', () => {
    const headings = [...PAGE.matchAll(/^#+ (.*)$/gm)].map(([, text = '']) =>
      text
        .toLowerCase()
        .replaceAll(/[^\w\s-]/g, '')
        .replaceAll(' ', '-'),
    )
    const links = [...PAGE.matchAll(/\]\((?!https:)([^)]+)\)/g)].map(([, link = '']) => link)
    const isThere = (link: string): boolean =>
      link.startsWith('#')
        ? headings.includes(link.slice(1))
        : existsSync(new URL(`../../../docs/${link}`, import.meta.url))
    expect(links.length).toBeGreaterThan(10)
    expect(links.filter((link) => !isThere(link))).toEqual([])
  })
})

describe('the snippets of docs/testing.md', () => {
  let folder = ''
  const before = process.cwd()

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'dodici-snippets-'))
    const { private: key, cert } = await toCertificate()
    writeFileSync(join(folder, 'key.pem'), key)
    writeFileSync(join(folder, 'cert.pem'), cert)
    process.chdir(folder)
  })

  afterAll(() => {
    process.chdir(before)
    rmSync(folder, { recursive: true, force: true })
  })

  it('are found', () => {
    expect(TYPESCRIPT.length).toBeGreaterThan(20)
    expect(findSnippets('# a\n\n<!-- f.ts -->\n```ts tls\nx\n```\n')).toEqual([
      { language: 'ts', info: 'tls', code: 'x', heading: 'a', file: 'f.ts', prints: null, line: 5 },
    ])
  })

  it.each(TYPESCRIPT)('line $line, $heading: runs, and does what it says', async (snippet) => {
    const { private: key, cert } = await toCertificate()
    const isTls = snippet.info === 'tls'
    const server = await testing.createFaultServer(isTls ? { key, cert } : { h2c: true })
    const agent = new dodici.Agent({ engine: 'wire', h2c: !isTls, connect: { ca: cert }, fallback: null })
    onTestFinished(() => agent.destroy())
    const { origin } = server
    await runSnippet(snippet, server, agent)
    // One that has a server of its own is done.
    const isOwn = snippet.code.includes('await createFaultServer(')
    const requests = isOwn ? [] : findRequests(snippet.code)
    const outcomes: Record<string, string> = {}
    const expected: Record<string, string> = {}
    // What the rules for sockets and connections do is seen by a request of any path.
    if (!isOwn && (requests.length === 0 || snippet.code.includes('onSocket'))) requests.unshift(['GET', '/'])
    for (const [method, path] of requests) {
      outcomes[path] = await play(agent, origin, method, path)
      expected[path] = OUTCOMES[path === '/' ? snippet.heading : path] ?? '200'
    }
    await agent.destroy()
    // Throws the error of a script.
    await server.close()
    expect(outcomes).toEqual(expected)
  })
})
