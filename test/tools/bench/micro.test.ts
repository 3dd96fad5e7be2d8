import { readdir } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { runNode } from '../../support/clients/child.ts'

const folder = new URL('../../../bench/micro/', import.meta.url)
const script = fileURLToPath(new URL('run.mjs', folder))

interface Comparison {
  readonly title: string
  readonly ways: Readonly<Record<string, () => unknown>>
}

const benchmarks = (await readdir(folder)).filter((file) => file !== 'run.mjs')
const all = await Promise.all(
  benchmarks.map(async (name) => {
    const module: { comparisons: readonly Comparison[] } = await import(new URL(name, folder).href)
    return { name, comparisons: module.comparisons }
  }),
)

/** A way that keeps something, such as a queue, shows only in time that it keeps it as the others do. */
async function runOften(run: () => unknown): Promise<unknown[]> {
  const results: unknown[] = []
  for (let i = 0; i < 50; i++) {
    const result = await run()
    // As text, since bytes are compared one by one.
    results.push(result instanceof Uint8Array ? Buffer.from(result).toString('latin1') : result)
  }
  return results
}

describe.each(all)('the micro benchmark $name', ({ comparisons }) => {
  it.each([...comparisons])('does the same in each way: $title', async ({ ways }) => {
    const [own, ...others] = await Promise.all(Object.values(ways).map(runOften))
    expect(others.length).toBeGreaterThan(0)
    expect(own).not.toContain(undefined)
    for (const other of others) expect(other).toEqual(own)
  })
})

describe('the command that runs the micro benchmarks', () => {
  it('measures each way, and compares it with our own', async () => {
    const { code, stdout, stderr } = await runNode(script, 'unordered-list', '--time', '1')
    expect([code, stderr]).toEqual([0, ''])
    const rows = stdout.split('\n').filter((line) => line.startsWith('  '))
    expect(rows.map((row) => row.split(/ {2,}/)[1])).toEqual([
      ...['UnorderedList', 'a Set'],
      ...['UnorderedList', 'a Set'],
    ])
    expect(rows[0]).toMatch(/ [\d.]+ {2,}1\.00 \[1\.00, 1\.00\]$/)
  })

  it('refuses a name that there is not', async () => {
    const { code, stdout, stderr } = await runNode(script, 'nothing')
    expect([code, stdout]).toEqual([2, ''])
    expect(stderr).toContain('There is no nothing, but caller-context, decode, headers, unordered-list')
  })
})
