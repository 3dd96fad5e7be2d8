import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { runNode } from '../support/clients/child.ts'

const folder = new URL('../../bench/allocations/', import.meta.url)

interface Meter {
  measure(path: string, extra?: number): Promise<number>
  close(): Promise<void>
}

interface MeterModule {
  openMeter(): Promise<Meter>
  pinnedVersion(): Promise<string>
}

interface Gate {
  readonly RUNS: number
  readRecords(): Promise<{ readonly node: string; readonly bytes: Readonly<Record<string, number>> }>
  judge(path: string, bytes: number, recorded: number | undefined): string | null
  check(measure: () => Promise<number>, path: string, recorded: number | undefined): Promise<string | null>
}

async function load<T>(file: string): Promise<T> {
  const module: T = await import(new URL(file, folder).href)
  return module
}

const { openMeter, pinnedVersion } = await load<MeterModule>('meter.mjs')
const { judge, check, readRecords, RUNS } = await load<Gate>('gate.mjs')
const { paths } = await load<{ readonly paths: Readonly<Record<string, unknown>> }>('paths.mjs')

const pinned = await pinnedVersion()
const records = await readRecords()

describe('the recorded allocations', () => {
  it('hold for the pinned Node 24, and for every path that is measured', () => {
    expect(records.node).toBe(pinned)
    expect(Object.keys(records.bytes)).toEqual(Object.keys(paths))
  })

  it('are a file as `--record` writes it', async () => {
    const text = await readFile(new URL('../allocations.json', folder), 'utf8')
    expect(text).toBe(`${JSON.stringify(records, null, 2)}\n`)
  })
})

describe('the gate', () => {
  it.each([950, 1_000, 1_050])('permits %i bytes if 1000 are recorded', (bytes) => {
    expect(judge('a', bytes, 1_000)).toBeNull()
  })

  it('names the path that allocates more than 5 % above its record', () => {
    expect(judge('a', 1_051, 1_000)).toBe('a: 1051 bytes a request, recorded are 1000 (+5.1 %): find out why')
  })

  it('asks for a new record more than 5 % below the old one', () => {
    expect(judge('a', 949, 1_000)).toMatch(/^a: 949 bytes .* \(-5\.1 %\): fine; record it anew/)
  })

  it('accepts neither a path without a record nor an invalid figure', () => {
    expect(judge('a', 1_000, undefined)).toContain('nothing recorded')
    expect(judge('a', Number.NaN, 1_000)).toContain('NaN')
  })

  it.each([
    { figures: [1_000], wrong: null },
    { figures: [2_000, 1_000, 1_001], wrong: null },
    { figures: [2_000, 1_000, 1_051], wrong: expect.stringContaining('1051 bytes') },
  ])('measures $figures.length times when that gives $figures', async ({ figures, wrong }) => {
    const left = [...figures]
    const measure = async (): Promise<number> => left.shift() ?? Number.NaN
    expect(await check(measure, 'a', 1_000)).toEqual(wrong)
    expect(left).toEqual([])
    expect(figures.length === 1 || figures.length === RUNS).toBe(true)
  })
})

describe('the command', () => {
  const script = fileURLToPath(new URL('../allocations.mjs', folder))

  it('says how it is used', async () => {
    const { code, stdout, stderr } = await runNode(script, '--help')
    expect([code, stderr]).toEqual([0, ''])
    expect(stdout).toContain('npm run bench:allocations -- --record')
  })

  it('refuses what there is not', async () => {
    const { code, stdout, stderr } = await runNode(script, '--paths', 'none')
    expect([code, stdout]).toEqual([2, ''])
    expect(stderr).toContain('--paths: none has none in its name')
  })
})

// On the other lines there is nothing to compare with. CI runs the tests on this very version, too.
if (process.version === pinned) {
  describe(`on Node ${pinned}`, () => {
    let meter: Meter | null = null

    const measure = (path: string, extra?: number): Promise<number> => {
      if (meter === null) throw new Error('The meter has not started')
      return meter.measure(path, extra)
    }

    beforeAll(async () => {
      meter = await openMeter()
    })

    afterAll(() => meter?.close())

    it.each(Object.keys(paths))('%s allocates as much a request as is recorded', async (path) => {
      expect(await check(() => measure(path), path, records.bytes[path])).toBeNull()
    })

    it('the meter sees an array of 64 numbers more for each request', async () => {
      const path = 'bare node:http2, GET'
      // V8's layout with pointers of 8 bytes: an array of 4 words, its elements with 2 words before them.
      const bytes = (4 + 2 + 64) * 8
      const added = (await measure(path, 64)) - (records.bytes[path] ?? Number.NaN)
      expect(added / bytes).toBeGreaterThan(0.9)
      expect(added / bytes).toBeLessThan(1.1)
    })
  })
}
