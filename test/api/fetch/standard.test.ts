/** The cases of the Fetch standard, for our fetch and for Node's own, over both protocols. */

import { readFile } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { COMPLETE } from './standard-codings.ts'
import type { SubjectName } from './standard-judge.ts'
import { CASES, Judge, PROTOCOLS, toTitle } from './standard-judge.ts'
import type { Protocol, Servers } from './standard-servers.ts'
import { startServers } from './standard-servers.ts'

interface Known {
  readonly title: RegExp
  readonly reason: string
  /** Of Node; all of them by default. */
  readonly lines?: readonly string[]
  /** Both by default. */
  readonly protocol?: Protocol
}

/** What our fetch is known to do otherwise. */
const KNOWN: readonly Known[] = [
  {
    title:
      /forbidden request-header › (content-length|transfer-encoding|upgrade) of the caller is passed over$/,
    reason: 'a field that is wrong is refused by name, as Node does',
  },
  {
    title: /content-length › (PATCH|PROPFIND) without a body has no content-length$/,
    reason: 'RFC 9110 §8.6 asks for it where a body has a meaning, and Node sends it',
  },
  {
    title: /a statusText is read byte by byte$/,
    reason: "the fallback's HTTP/1.1 reads it as UTF-8",
    protocol: 'HTTP/1.1',
  },
  {
    title: /a field whose name has a space is a TypeError$/,
    reason: "the fallback's HTTP/1.1 takes it",
    lines: ['20', '22'],
    protocol: 'HTTP/1.1',
  },
  {
    title: /priority can't be /,
    reason: 'the Request of Node 20 and 22 has no priority',
    lines: ['20', '22'],
  },
  {
    title: /blob › the range bytes=.* gets a response$/,
    reason: "blob: is left to Node's own fetch, which cuts ranges wrong",
    lines: ['20', '22'],
  },
  {
    title: /blob › the range bytes=2- gets a response$/,
    reason: "blob: is left to Node's own fetch, which cuts ranges wrong",
    lines: ['24'],
  },
]

const LINE = process.versions.node.split('.')[0] ?? ''

function toKnown(title: string, protocol: Protocol): Known | undefined {
  return KNOWN.find(
    (known) =>
      known.title.test(title) &&
      (known.lines?.includes(LINE) ?? true) &&
      (known.protocol === undefined || known.protocol === protocol),
  )
}

const docs = new URL('../../../docs/fetch.md', import.meta.url)

let servers: Servers
let judge: Judge

beforeAll(async () => {
  servers = await startServers()
  judge = new Judge(servers)
})

afterAll(() => servers.stop())

/** Where exactly one of both passes, and which. */
async function toDifferences(protocol: Protocol): Promise<Map<string, SubjectName>> {
  const ours = await judge.toPassed('Dodici', protocol)
  const nodes = await judge.toPassed("Node's own", protocol)
  const differences = new Map<string, SubjectName>()
  for (const one of CASES) {
    const isCompared = ours.has(one) !== nodes.has(one) && !one.what.endsWith(COMPLETE)
    if (isCompared) differences.set(toTitle(one), ours.has(one) ? 'Dodici' : "Node's own")
  }
  return differences
}

/** A row of the table: `| title | which passes | lines over HTTP/1.1 | lines over HTTP/2 |`. */
async function readDifferences(protocol: Protocol): Promise<Map<string, string>> {
  const text = await readFile(docs, 'utf8')
  const [, table = ''] = /<!-- standard:begin -->(.*)<!-- standard:end -->/s.exec(text) ?? []
  const rows = table.split('\n').map((row) => row.split(/(?<!\\)\|/).map((cell) => cell.trim()))
  const column = protocol === 'HTTP/1.1' ? 3 : 4
  const holding = rows.filter((row) => row[column]?.split(' ').includes(LINE))
  return new Map(holding.map(([, title = '', name = '']) => [title.replaceAll('\\|', '|'), name]))
}

describe('when the cases are listed', () => {
  it('each has a title of its own', () => {
    const titles = CASES.map(toTitle)
    expect(titles.filter((title, i) => titles.indexOf(title) !== i)).toEqual([])
  })

  it('none is known that is no case', () => {
    const titles = CASES.map(toTitle)
    expect(KNOWN.filter(({ title }) => !titles.some((one) => title.test(one)))).toEqual([])
  })
})

describe.each(PROTOCOLS)('when our fetch speaks %s', (protocol) => {
  // Not `it.each`, which cuts names off.
  for (const one of CASES) {
    const title = toTitle(one)
    const known = toKnown(title, protocol)
    if (known === undefined) {
      it(title, async () => {
        const error = await judge.judge(protocol, one)
        if (error !== null) throw error
      })
    } else {
      it(`otherwise, since ${known.reason}: ${title}`, async () => {
        expect(await judge.judge(protocol, one)).not.toBeNull()
      })
    }
  }
})

describe.each(PROTOCOLS)('when it is compared with that of Node over %s', (protocol) => {
  it('it passes no fewer cases', async ({ annotate }) => {
    const ours = (await judge.toPassed('Dodici', protocol)).size
    const nodes = (await judge.toPassed("Node's own", protocol)).size
    const differences = [...(await toDifferences(protocol))].map(([title, name]) => `${name}: ${title}`)
    const message = `Of ${CASES.length} Dodici passes ${ours}, Node's own ${nodes}:\n${differences.join('\n')}`
    await annotate(message)
    expect(ours, message).toBeGreaterThanOrEqual(nodes)
  })

  it('the differences are those of docs/fetch.md', async () => {
    expect(await toDifferences(protocol)).toEqual(await readDifferences(protocol))
  })
})
