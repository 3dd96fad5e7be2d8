import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import { runNode } from '../../support/clients/child.ts'
import { loadModule } from '../../support/clients/plain-module.ts'
import type { Entry, Result, Scenario } from './report-result.ts'
import { toEntry, toHardResult, toResult, toScenario, toUsualEntries } from './report-result.ts'

interface Report {
  renderReport(result: object, directory: string): Promise<string[]>
}

const { renderReport } = await loadModule<Report>('bench/report/index.mjs')

async function makeFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'dodici-report-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  return folder
}

/** What a report of a result consists of: the files, and the text of each. */
async function render(result: object): Promise<{ names: string[]; read(name: string): string }> {
  const files = await renderReport(result, join(await makeFolder(), 'made', 'for it'))
  const texts = new Map<string, string>()
  for (const file of files) texts.set(basename(file), await readFile(file, 'utf8'))
  const read = (name: string): string => {
    const text = texts.get(name)
    if (text === undefined) throw new Error(`There is no ${name}, but ${[...texts.keys()]}`)
    return text
  }
  return { names: [...texts.keys()], read }
}

const toContents = (markup: string, tag: RegExp): string[] =>
  [...markup.matchAll(tag)].map(([, text = '']) => text)

/** The words of a chart, in order. */
const toTexts = (svg: string): string[] => toContents(svg, /<text[^>]*>([^<]*)<\/text>/g)

/** The lengths of the bars of a chart. */
const toLengths = (svg: string): number[] =>
  toContents(
    svg,
    /<rect class="chart-(?:ours|wire|reference|other)" x="[^"]*" y="[^"]*" width="([^"]*)"/g,
  ).map(Number)

const one: Entry = toEntry('dodici', 'dispatch', 20)
const peer: Entry = { ...toEntry('undici', 'dispatch', 40), label: 'undici 8' }
const reference: Entry = { ...toEntry('node-http2', 'session.request', 25), label: 'node:http2' }

describe('a report', () => {
  it('is a page and a chart for each figure of each scenario, and two for the README', async () => {
    const result = toResult(toScenario('get-1k', [one, peer]), toScenario('a b', [one]))
    const figures = ['cpu', 'throughput', 'bytes']
    const charts = ['get-1k', 'a-b'].flatMap((slug) => figures.map((figure) => `${figure}-${slug}.svg`))
    expect((await render(result)).names).toEqual([
      'report.html',
      ...charts,
      'all-cpu.svg',
      'all-throughput.svg',
    ])
  })

  it('has no chart for the README when the run had none of its scenarios', async () => {
    const { names } = await render(toResult(toScenario('post-1k', [one])))
    expect(names.filter((name) => /^(readme|all)-/.test(name))).toEqual([])
  })

  it('is the same each time, and asks for nothing outside of itself', async () => {
    const [first, second] = [await render(toHardResult()), await render(toHardResult())]
    expect(first.names.length).toBeGreaterThan(12)
    for (const name of first.names) {
      const text = first.read(name)
      expect(second.read(name)).toBe(text)
      expect(text).not.toMatch(/url\(|@import|@font-face/)
      const links = toContents(text, / (?:href|src)="([^"]*)"/g)
      expect(links.filter((link) => link !== 'data:,')).toEqual([])
    }
  })

  it('writes nothing of what it is given as markup', async () => {
    const { names, read } = await render(toHardResult())
    for (const name of names) {
      expect(read(name)).not.toMatch(/<script|<img|onerror='/)
    }
    expect(read('report.html')).toContain(
      '&lt;/title&gt;&lt;script&gt;alert(1)&lt;/script&gt;&lt;img src=&quot;',
    )
  })

  it('has what was measured, when, where and of what, and the tables that the run has printed', async () => {
    const html = (await render(toResult(toScenario('get-1k', [one, peer, reference])))).read('report.html')
    for (const fact of ['Some CPU @ 2.00GHz', '24.21.0', 'nghttpd nghttp2/1.52.0', '0123456789abcdef'])
      expect(html).toContain(fact)
    expect(html).toMatch(/^dodici +dispatch +50,000 \(45,000–55,000\) .* 80\.0$/m)
    const [, bare = '', undici = ''] = html.split('<pre tabindex="0">').at(-1)?.split('\n\n') ?? []
    const toRatios = (table: string): (string[] | undefined)[] =>
      table.split('\n').map((line) => /^(.+?) {2,}.*(\d\.\d\d) \[[^[]*\[[^[]*$/.exec(line)?.slice(1))
    expect(toRatios(bare).slice(1)).toEqual([
      ['dodici', '0.80'],
      ['undici 8', '1.60'],
    ])
    expect(toRatios(undici)[1]).toEqual(['dodici', '0.50'])
  })
})

describe('a chart', () => {
  const draw = async (name: string, ...entries: Entry[]): Promise<string> =>
    (await render(toResult(toScenario('get-1k', entries)))).read(`${name}.svg`)

  it('of one bar has its name, its figure and an axis that begins with 0', async () => {
    const svg = await draw('cpu-get-1k', one)
    expect(toLengths(svg)).toHaveLength(1)
    const texts = toTexts(svg)
    expect(texts).toEqual(expect.arrayContaining(['dispatch', 'dodici', '20.0 (18.0–22.0)', '0', '25']))
    expect(svg).not.toContain('chart-mark"')
  })

  it('has bars as long as what they stand for, the best of each API first', async () => {
    const svg = await draw('cpu-get-1k', peer, one)
    const [first = 0, second = 0] = toLengths(svg)
    expect(second / first).toBeCloseTo(2, 2)
    expect(toTexts(svg).filter((text) => ['dodici', 'undici 8'].includes(text))).toEqual([
      'dodici',
      'undici 8',
    ])
    expect(toTexts(await draw('throughput-get-1k', peer, one))).toContain('50,000 (45,000–55,000)')
  })

  it('has whiskers from the lowest round to the highest', async () => {
    const svg = await draw('cpu-get-1k', one)
    const [start = 0] = toContents(svg, /<rect class="chart-ours" x="([^"]*)"/g).map(Number)
    const [low = 0] = toContents(svg, /chart-whisker" d="M([\d.]+) /g).map(Number)
    const [high = 0] = toContents(svg, /chart-whisker" d="M[^M]*M([\d.]+) /g).map(Number)
    const [length = 0] = toLengths(svg)
    expect((low - start) / length).toBeCloseTo(0.9, 2)
    expect((high - start) / length).toBeCloseTo(1.1, 2)
  })

  it('has a line where bare node:http2 is, when that is one figure', async () => {
    expect(await draw('cpu-get-1k', one, reference)).toContain('class="chart-mark"')
    const second = { ...reference, api: 'connect' }
    expect(await draw('cpu-get-1k', one, reference, second)).not.toContain('class="chart-mark"')
  })

  it('has all of more than twenty bars, and says all of it in words', async () => {
    const entries = toUsualEntries()
    const svg = await draw('cpu-get-1k', ...entries)
    expect(entries.length).toBeGreaterThan(18)
    // Two of them are bounds, which are lines.
    expect(toLengths(svg)).toHaveLength(entries.length - 2)
    const [words = ''] = toContents(svg, /<desc[^>]*>([^<]*)<\/desc>/g)
    expect(words).toContain('dispatch: dodici 21.0 (18.9–23.1); undici 8 33.0 (29.7–36.3). request: ')
  })

  it('cuts a name that is too long in the middle, and has the whole of it as a hint', async () => {
    const label = `begin ${'x'.repeat(200)} end`
    const svg = await draw('cpu-get-1k', { ...one, label })
    expect(toTexts(svg)).toContainEqual(expect.stringMatching(/^begin x+…x+ end$/))
    expect(svg).toContain(`<title>${label}: 20.0 (18.0–22.0)</title>`)
  })

  it('leaves out a client that cannot tell, and is left out when none can', async () => {
    const silent = toEntry('go', 'go', 15, { allocatedBytes: null })
    expect(toTexts(await draw('bytes-get-1k', one, silent))).not.toContain('go')
    const { names } = await render(toResult(toScenario('x', [silent])))
    expect(names).toEqual(['report.html', 'cpu-x.svg', 'throughput-x.svg'])
  })

  it('has a colour for each of our engines', async () => {
    const svg = await draw('cpu-get-1k', one, toEntry('dodici-wire', 'dispatch', 5))
    expect(toContents(svg, /<rect class="chart-(ours|wire)"/g)).toEqual(['wire', 'ours'])
  })

  it('has lines for the floors and for h2load, each with its name and its figure, and no bars', async () => {
    const bounds = [
      toEntry('floor', 'frames', 4),
      toEntry('floor-hpack', 'frames', 5),
      toEntry('h2load', 'request', 2),
    ]
    const svg = await draw('cpu-get-1k', one, ...bounds)
    expect(toLengths(svg)).toHaveLength(1)
    const [start = 0] = toContents(svg, /<rect class="chart-ours" x="([^"]*)"/g).map(Number)
    const [length = 0] = toLengths(svg)
    const [floor = 0] = toContents(svg, /<line class="chart-floor" x1="([^"]*)"/g).map(Number)
    expect((floor - start) / length).toBeCloseTo(0.2, 2)
    expect(toTexts(svg)).toEqual(
      expect.arrayContaining([
        'floor, a bare socket that frames: 4.0 (3.6–4.4)',
        'floor-hpack: 5.0 (4.5–5.5)',
        'h2load: 2.0 (1.8–2.2)',
      ]),
    )
  })

  it.each([
    {
      what: 'undici, and the floor',
      entries: [one, peer, reference, toEntry('floor', 'frames', 10)],
      verdict:
        'With dispatch, dodici takes 0.50 [0.50, 0.50] times the CPU time of undici 8; 2.00 [2.00, 2.00] times that of the floor.',
    },
    {
      what: 'bare node:http2 where undici is missing',
      entries: [one, reference],
      verdict: 'With dispatch, dodici takes 0.80 [0.80, 0.80] times the CPU time of node:http2.',
    },
    {
      what: 'a figure that is the same',
      entries: [one, { ...peer, rounds: one.rounds }],
      verdict:
        'With dispatch, dodici takes about the CPU time of undici 8: 1.00 [1.00, 1.00] times as much, which is no difference that this run can show.',
    },
    { what: 'nothing', entries: [one], verdict: '' },
  ])('begins with a verdict: of $what', async ({ entries, verdict }) => {
    const svg = await draw('cpu-get-1k', ...entries)
    const lines = toContents(svg, /<text class="chart-verdict"[^>]*>([^<]*)<\/text>/g)
    expect(lines.join(' ').replaceAll('&#39;', "'")).toBe(verdict)
  })

  it('draws nothing for zero', async () => {
    const idle = toEntry('dodici', 'dispatch', 1, { cpuMicros: 0 })
    expect(toLengths(await draw('cpu-get-1k', idle))).toEqual([0])
  })
})

describe('the charts for docs/performance.md', () => {
  it('show all clients over h2c and over TLS, the best first, with the APIs that most people use', async () => {
    const scenarios: Scenario[] = [
      toScenario('get-1k', [one, { ...one, api: 'request' }, reference]),
      toScenario(
        'get-1k-tls',
        [
          { ...peer, api: 'fetch' },
          { ...one, api: 'request' },
        ],
        true,
      ),
    ]
    const texts = toTexts((await render(toResult(...scenarios))).read('all-cpu.svg'))
    const names = texts.filter((text) => /^over|^dodici|^undici|^node:http2/.test(text))
    expect(names).toEqual([
      'over h2c',
      'dodici · request',
      'node:http2',
      'over TLS',
      'dodici · request',
      'undici 8 · fetch',
    ])
  })

  it('say how the best of ours stands to undici in each, and have the bounds of each in its group', async () => {
    const entries = [
      toEntry('dodici-wire', 'request', 5),
      { ...peer, api: 'request' },
      toEntry('floor', 'frames', 2),
    ]
    const result = toResult(toScenario('get-1k', entries), toScenario('get-1k-tls', entries, true))
    const svg = (await render(result)).read('all-cpu.svg')
    const lines = toContents(svg, /<text class="chart-verdict"[^>]*>([^<]*)<\/text>/g)
    expect(lines.join(' ')).toBe(
      'With request, dodici-wire takes 0.13 [0.13, 0.13] times the CPU time of undici 8 over h2c, 0.13 [0.13, 0.13] over TLS.',
    )
    // A line and its sample for each group.
    expect(toContents(svg, /<line class="(chart-floor)"/g)).toHaveLength(4)
  })

  it('show the other APIs when the run had none of those', async () => {
    const texts = toTexts((await render(toResult(toScenario('get-1k', [one])))).read('all-cpu.svg'))
    expect(texts).toContain('dodici · dispatch')
  })
})

describe('the command that draws a result', () => {
  const script = fileURLToPath(new URL('../../../bench/report/index.mjs', import.meta.url))

  it('writes the report beside the result, or where it is told to', async () => {
    const folder = await makeFolder()
    const file = join(folder, 'result.json')
    const result: Result = toResult(toScenario('x', [one]))
    await writeFile(file, JSON.stringify(result))
    const beside = await runNode(script, file)
    expect([beside.code, beside.stderr]).toEqual([0, ''])
    expect(beside.stdout).toContain(`${join(folder, 'report.html')}\n`)
    await runNode(script, file, join(folder, 'there'))
    expect((await readdir(join(folder, 'there'))).toSorted()).toEqual(
      (await readdir(folder)).filter((name) => !['result.json', 'there'].includes(name)).toSorted(),
    )
  })

  it('draws the latest result when it is told of none', async () => {
    const copy = await makeFolder()
    const bench = fileURLToPath(new URL('../../../bench/', import.meta.url))
    for (const part of ['bench/report', 'bench/e2e', 'scripts/random.mjs'])
      await cp(join(bench, '..', part), join(copy, part), { recursive: true })
    const results = join(copy, 'bench', 'results')
    const moved = join(copy, 'bench', 'report', 'index.mjs')
    const none = await runNode(moved)
    expect([none.code, none.stderr]).toEqual([1, expect.stringContaining('latest.json is no result: ENOENT')])
    await mkdir(results)
    await writeFile(join(results, 'latest.json'), JSON.stringify(toResult(toScenario('x', [one]))))
    expect((await runNode(moved)).stdout).toContain(`${join(results, 'report.html')}\n`)
  })

  it('says what is wrong with a file that is no result, or with an option', async () => {
    const file = join(await makeFolder(), 'result.json')
    await writeFile(file, '{}')
    const other = await runNode(script, file)
    expect([other.code, other.stderr]).toEqual([1, `${file} is no result: it has no scenarios\n`])
    const none = await runNode(script, '--help')
    expect([none.code, none.stderr]).toEqual([
      2,
      'Usage: node bench/report/index.mjs [RESULT.json [DIRECTORY]]\n',
    ])
  })
})
