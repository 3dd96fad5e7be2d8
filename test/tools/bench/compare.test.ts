import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import { loadModule } from '../../support/clients/plain-module.ts'
import { inTurn } from '../../support/clocks/sample.ts'

interface Comparison {
  readonly better: 'more' | 'less'
  readonly words: { readonly better: string; readonly worse: string }
  readonly a: readonly number[]
  readonly b: readonly number[]
}

interface Judged {
  readonly ratio: number
  readonly low: number
  readonly high: number
  readonly probability: number
  readonly verdict: string
  readonly visible: number
}

interface VerdictModule {
  judge(comparisons: readonly Comparison[]): Judged[]
  leastRounds(comparisons: number): number
}

const { judge, leastRounds } = await loadModule<VerdictModule>('bench/e2e/statistics.mjs')

const NOTHING = 'no significant difference'
const words = { better: 'faster', worse: 'slower' }

/** Twelve rounds of a machine that is slow at times, which both builds of a round suffer from. */
const MOODS = [1, 1.3, 0.9, 1.1, 2, 1, 1.6, 0.8, 1.2, 1, 1.4, 0.95]
/** What differs between two runs of the same: as much up as down. */
const NOISE = [0.97, 1.03, 1.01, 0.99, 0.98, 1.02, 1.015, 0.985, 1.005, 0.995, 1.025, 0.975]

/** Rounds of A, and of B, which takes `factor` times as much. */
function compare(factor: number, noise: readonly number[], better: 'more' | 'less' = 'less'): Comparison {
  const a = MOODS.map((mood) => 25 * mood)
  return { better, words, a, b: a.map((value, round) => value * factor * (noise[round] ?? 1)) }
}

function judgeOne(comparison: Comparison): Judged {
  const [judged] = judge([comparison])
  if (judged === undefined) throw new Error('There is no verdict')
  return judged
}

describe('the verdict on two builds', () => {
  it('is no significant difference when all rounds are equal, or as often up as down', () => {
    expect(judgeOne(compare(1, []))).toEqual({
      ...{ ratio: 1, low: 1, high: 1, probability: 1, visible: 0 },
      verdict: NOTHING,
    })
    const { verdict, low, high } = judgeOne(compare(1, NOISE))
    expect(verdict).toBe(NOTHING)
    expect([low < 1, high > 1]).toEqual([true, true])
  })

  it('is faster or slower when each round shows it, however much the rounds differ from one another', () => {
    expect(judgeOne(compare(0.9, NOISE)).verdict).toBe('faster')
    expect(judgeOne(compare(1.1, NOISE)).verdict).toBe('slower')
    expect(judgeOne(compare(0.9, NOISE)).ratio).toBeCloseTo(0.9, 2)
  })

  it('is the other way round for a figure of which more is better', () => {
    expect(judgeOne(compare(0.9, NOISE, 'more')).verdict).toBe('slower')
    expect(judgeOne(compare(1.1, NOISE, 'more')).verdict).toBe('faster')
  })

  it('is no significant difference when the noise is larger than it', () => {
    const loud = NOISE.map((noise) => noise ** 10)
    expect(judgeOne(compare(0.97, loud)).verdict).toBe(NOTHING)
  })

  it('comes with the smallest difference that would have shown, which noise makes larger', () => {
    const [calm, loud] = [NOISE, NOISE.map((noise) => noise ** 10)].map(
      (noise) => judgeOne(compare(1, noise)).visible,
    )
    expect(calm).toBeGreaterThan(0.005)
    expect(calm).toBeLessThan(0.05)
    expect(loud).toBeGreaterThan(0.1)
    // What it promises: a difference of one and a half times as much does show.
    expect(judgeOne(compare(1 + 1.5 * (calm ?? 0), NOISE)).verdict).toBe('slower')
  })

  it('is stricter when there are more comparisons, of which some always differ by chance', () => {
    // Ten rounds up and two down by chance: enough for one comparison, not for twenty.
    const chance = NOISE.map((_, round) => (round < 2 ? 0.985 : 1.01 + round / 1000))
    const lucky = compare(1, chance)
    expect(judgeOne(lucky).verdict).toBe('slower')
    const even = Array.from({ length: 19 }, () => compare(1, NOISE))
    expect(judge([lucky, ...even]).map(({ verdict }) => verdict)).toEqual(Array(20).fill(NOTHING))
  })

  it('is never a difference with too few rounds', () => {
    const few = ({ a, b, ...more }: Comparison, rounds: number) => {
      return judgeOne({ ...more, a: a.slice(0, rounds), b: b.slice(0, rounds) })
    }
    const doubled = compare(2, NOISE)
    expect(leastRounds(1)).toBe(6)
    expect(few(doubled, 5)).toMatchObject({ verdict: NOTHING, low: 0, high: Infinity, visible: Infinity })
    expect(few(doubled, 6)).toMatchObject({ verdict: 'slower' })
  })
})

const script = fileURLToPath(new URL('../../../bench/e2e/compare.mjs', import.meta.url))

/** Starts the comparison, with a folder of its own for all that it writes. */
async function start(...args: string[]) {
  const folder = await mkdtemp(join(tmpdir(), 'dodici-compare-'))
  const child = spawn(process.execPath, [script, ...args], {
    env: { ...process.env, NODE_OPTIONS: '', TMPDIR: folder },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const said = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      said[name] += text
    })
  }
  const closed = once(child, 'close')
  onTestFinished(async () => {
    child.kill('SIGTERM')
    await closed
    await rm(folder, { recursive: true, force: true })
  })
  /** How it ended, and what it has left behind. */
  const end = async () => {
    await closed
    return { code: child.exitCode, ...said, left: await readdir(folder) }
  }
  return { child, end }
}

/** So little that the figures say nothing. */
const TINY = ['--rounds', '2', '--requests', '20', '--warmup', '10', '--server', 'node', '--apis', 'dispatch']

describe('a comparison', () => {
  it('of a revision with itself ends well, says what it compared, and leaves nothing behind', async () => {
    const { end } = await start('HEAD', 'HEAD', ...TINY)
    const { code, stdout, stderr, left } = await end()
    expect(stderr).toContain('get-1k: round 2 of 2, 2 of 2\n')
    expect(stdout).toMatch(/^A: [0-9a-f]+ .+\nB: [0-9a-f]+ .+$/m)
    const rows = stdout.split('\n').filter((line) => line.startsWith('get-1k  '))
    expect(rows.map((row) => row.split(/ {2,}/).slice(0, 3).join(' '))).toEqual([
      'get-1k dispatch CPU',
      'get-1k dispatch requests/s',
      'get-1k dispatch heap bytes',
    ])
    for (const row of rows) expect(row).toMatch(/ {2}no significant difference$/)
    expect(stdout).toContain('2 rounds can show no difference at all among 3 comparisons: take at least 7.')
    expect([code, left]).toEqual([0, []])
  })

  // Each builds two revisions. SIGINT is played to a run of the clients, too.
  it.each(
    inTurn(['SIGTERM', 'SIGINT'] as const, 0),
  )('that gets %s in the middle leaves nothing behind', async (signal) => {
    const { child, end } = await start('HEAD', '.', ...TINY)
    await new Promise<void>((resolve) => {
      let said = ''
      child.on('close', () => resolve())
      child.stderr.on('data', (text: string) => {
        said += text
        // Both builds are there then, and servers and a client run.
        if (said.includes('round 1 of 2, 2 of 2')) resolve()
      })
    })
    expect(child.exitCode).toBe(null)
    child.kill(signal)
    const { code, left } = await end()
    expect([code, left]).toEqual([1, []])
  })
})
