import { readdir } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { runNode } from '../../support/clients/child.ts'

const folder = new URL('../../../bench/micro/', import.meta.url)

interface Comparison {
  readonly title: string
  readonly ways: Readonly<Record<string, () => unknown>>
}

async function load<T>(file: string): Promise<T> {
  const module: T = await import(new URL(file, folder).href)
  return module
}

const { benchmarks } = await load<{ readonly benchmarks: readonly string[] }>('harness.mjs')
const all = await Promise.all(
  benchmarks.map(async (name) => {
    const { comparisons } = await load<{ readonly comparisons: readonly Comparison[] }>(`${name}.mjs`)
    return { name, comparisons }
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

it('every file of bench/micro is one of the benchmarks, or what they share', async () => {
  const files = (await readdir(folder)).map((file) => file.replace(/\.mjs$/, ''))
  expect(files.sort()).toEqual([...benchmarks, 'harness', 'run'].sort())
})

describe.each(all)('the micro benchmark $name', ({ comparisons }) => {
  it.each([...comparisons])('does the same in each way: $title', async ({ ways }) => {
    const [own, ...others] = await Promise.all(Object.values(ways).map(runOften))
    expect(others.length).toBeGreaterThan(0)
    expect(own).not.toContain(undefined)
    for (const other of others) expect(other).toEqual(own)
  })
})

describe('a micro benchmark', () => {
  /** What is printed for a way: its name, and three figures. */
  const ROW = /^ {2}\S.* {2,}[\d.]+ {2,}±[\d.]+ % {2,}[\d.]+$/

  it('is run with all others by run.mjs, which tells on stderr how far it is', async () => {
    const script = fileURLToPath(new URL('run.mjs', folder))
    const { code, stdout, stderr } = await runNode(script, '--time', '1')
    expect(code).toBe(0)
    const count = benchmarks.length
    const progress = benchmarks.map((name, index) => `${index + 1} of ${count}: ${name}`)
    expect(stderr.trimEnd().split('\n')).toEqual(progress)
    const [head, ...lines] = stdout.trimEnd().split('\n')
    expect(head).toMatch(/^Node v[\d.]+ {2,}ns {2,}margin {2,}÷ ours$/)
    const expected = all.flatMap(({ comparisons }) =>
      comparisons.flatMap(({ title, ways }) => [
        title,
        ...Object.keys(ways).map(() => expect.stringMatching(ROW)),
      ]),
    )
    expect(lines).toEqual(expected)
  })

  it('runs alone, and compares with our own way', async () => {
    const script = fileURLToPath(new URL('run.mjs', folder))
    const { code, stdout, stderr } = await runNode(script, 'unordered-list', '--time', '1')
    expect([code, stderr]).toEqual([0, '1 of 1: unordered-list\n'])
    const lines = stdout.split('\n')
    expect(lines[2]).toMatch(/^ {2}UnorderedList .* 1\.00$/)
  })

  it.each([
    { args: ['nothing'], message: 'There is no nothing, but headers, ' },
    { args: ['--time', 'soon'], message: '--time takes milliseconds, such as 500, and no soon' },
  ])('run with $args is refused', async ({ args, message }) => {
    const { code, stdout, stderr } = await runNode(fileURLToPath(new URL('run.mjs', folder)), ...args)
    expect([code, stdout]).toEqual([2, ''])
    expect(stderr).toContain(message)
  })
})
