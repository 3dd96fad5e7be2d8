import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import type { LimitRow } from '../../../src/options/limits.ts'
import {
  AGENT_LIMITS,
  CALL_LIMITS,
  HTTP1_LIMITS,
  LIMITS,
  POOL_LIMITS,
  SESSION_LIMITS,
} from '../../../src/options/limits.ts'
import { toAgentOptions, toClientOptions, toConnections } from '../../../src/options/options.ts'
import type { LimitTable } from '../limit-docs.ts'
import { checkDocs, checkTypeDocs, findDocumented } from '../limit-docs.ts'

const root = fileURLToPath(new URL('../../../', import.meta.url))
const read = (path: string): string => readFileSync(`${root}${path}`, 'utf8')

const rows: readonly (readonly [string, LimitRow])[] = Object.entries(LIMITS)

/** Where the types have each part of the table. */
const INTERFACES: readonly (readonly [file: string, name: string, table: LimitTable])[] = [
  ['types/limits.ts', 'CallLimits', CALL_LIMITS],
  ['types/client.ts', 'ClientOptions', SESSION_LIMITS],
  ['types/http1.ts', 'Http1Options', HTTP1_LIMITS],
  ['types/client.ts', 'PoolOptions', POOL_LIMITS],
  ['types/client.ts', 'AgentOptions', AGENT_LIMITS],
]

const PAGES = [
  'README.md',
  ...readdirSync(`${root}docs`, { recursive: true, encoding: 'utf8' })
    // docs/site/ has packages of others, and copies of these pages.
    .filter((file) => file.endsWith('.md') && !/^site[\\/]/.test(file))
    .map((file) => `docs/${file}`),
]

describe('the table of limits', () => {
  it.each(rows)('has a row that makes sense: %s', (name, { default: value, min, max, unit, off }) => {
    expect(min).toBeLessThan(max)
    expect(value).toBeGreaterThanOrEqual(min)
    if (value > max) expect(off).toBeNull()
    if (typeof off === 'number') expect(off).toBe(min)
    expect(unit === 'milliseconds').toBe(/(Timeout|TimeoutThreshold|Interval|Ttl|Age|Period)$/.test(name))
    expect(unit === 'bytes').toBe(/(Size|Buffer)$/.test(name))
  })

  it('has the defaults of what is resolved', () => {
    const { limits, session, connectTimeout, http1 } = toClientOptions({})
    const resolved = {
      // Over HTTP/1.1 the default of keepAliveTimeout is undici's.
      ...{ ...limits, connectTimeout, ...http1, ...session },
      connections: toConnections({}).sessions,
      maxOrigins: toAgentOptions({}).maxOrigins,
    }
    expect(resolved).toMatchObject(Object.fromEntries(rows.map(([name, row]) => [name, row.default])))
  })
})

describe('the docs of the types', () => {
  describe.each(INTERFACES)('%s: %s', (file, name, table) => {
    it('say what the table says', () => {
      expect(checkTypeDocs(read(file), name, table)).toEqual([])
    })

    it.each(Object.keys(table))('are told from a table with another default: %s', (limit) => {
      const told = checkTypeDocs(read(file), name, withOtherDefault(table, limit))
      expect(told).toContainEqual(expect.stringContaining(`${name}.${limit}: @default is `))
    })
  })

  it.each(['types/limits.ts', 'types/client.ts', 'types/http1.ts'])('say the units: %s', (file) => {
    expect(read(file)).toMatch(/Durations in milliseconds, sizes in bytes/)
  })
})

describe('the pages', () => {
  it.each(PAGES)('say what the table says: %s', (page) => {
    expect(checkDocs(read(page), LIMITS)).toEqual([])
  })

  it('have every limit of a call with its error, and the others among the options', () => {
    const { withoutError } = findDocumented(read('docs/options.md'))
    const { withError } = findDocumented(read('docs/timeouts.md'))
    expect(withError).toEqual(Object.keys(CALL_LIMITS))
    expect(withoutError).toEqual(
      expect.arrayContaining(
        Object.keys({ ...SESSION_LIMITS, ...HTTP1_LIMITS, ...POOL_LIMITS, ...AGENT_LIMITS }),
      ),
    )
  })

  it('have one table of each default: docs/options.md or docs/timeouts.md, and docs/threat-model.md', () => {
    const tables = PAGES.flatMap((page) => {
      const { withError, withoutError } = findDocumented(read(page))
      return [...withError, ...withoutError].filter((name) => name in LIMITS)
    })
    expect(tables.toSorted()).toEqual([...Object.keys(LIMITS), ...Object.keys(LIMITS)].toSorted())
  })

  it('have every limit, with what its calls fail by, in docs/threat-model.md', () => {
    expect(findDocumented(read('docs/threat-model.md')).withError).toEqual(Object.keys(LIMITS))
  })

  it.each([
    'docs/options.md',
    'docs/timeouts.md',
    'docs/threat-model.md',
    'docs/connections.md',
  ])('say the units: %s', (page) => {
    expect(read(page)).toMatch(/Durations\sare\sin\smilliseconds, sizes\sin\sbytes/)
  })

  describe.each([
    [['docs/options.md', 'docs/timeouts.md']],
    [['docs/threat-model.md']],
  ])('such as %s', (pages) => {
    const text = pages.map(read).join('\n')
    it.each(Object.keys(LIMITS))('are told from a table with another default: %s', (name) => {
      const told = checkDocs(text, withOtherDefault(LIMITS, name))
      expect(told).toContainEqual(expect.stringContaining(`the default of ${name} is `))
    })

    it.each(Object.keys(CALL_LIMITS))('are told from a table with another error: %s', (name) => {
      const table: LimitTable = { ...LIMITS, [name]: { ...LIMITS.pingTimeout, default: toRow(name).default } }
      const told = checkDocs(text, table)
      expect(told).toContainEqual(expect.stringContaining(`the error of ${name} is `))
    })
  })
})

function toRow(name: string): LimitRow {
  const row = rows.find(([other]) => other === name)?.[1]
  if (row === undefined) throw new Error(`The table has no ${name}`)
  return row
}

function withOtherDefault(table: LimitTable, name: string): LimitTable {
  return { ...table, [name]: { ...toRow(name), default: 12_345 } }
}
