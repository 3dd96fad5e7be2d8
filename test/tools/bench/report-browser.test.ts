import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Browser, Scheme } from '../../support/clients/chromium.ts'
import {
  lacksChromium,
  prefer,
  resize,
  startChromium,
  takeComplaints,
} from '../../support/clients/chromium.ts'
import { loadModule } from '../../support/clients/plain-module.ts'
import type { Result } from './report-result.ts'
import { HOSTILE, toHardResult } from './report-result.ts'

interface Report {
  renderReport(result: Result, directory: string): Promise<string[]>
}

/** As a script for the page: functions, and no module. */
const inspection = (await readFile(new URL('report-inspect.mjs', import.meta.url), 'utf8')).replace(
  'export function',
  'function',
)

const { renderReport } = await loadModule<Report>('bench/report/index.mjs')

describe.skipIf(lacksChromium)('the report in a browser', () => {
  let folder = ''
  let files: string[] = []
  let browser: Browser

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'dodici-report-'))
    files = await renderReport(toHardResult(), folder)
    browser = await startChromium()
  })

  afterAll(async () => {
    await browser?.close()
    await rm(folder, { recursive: true, force: true })
  })

  /** Shows a file, and gives all that is wrong with it, and with how it was loaded. */
  async function look(file: string, scheme: Scheme, width: number): Promise<string[]> {
    await prefer(browser, scheme)
    await resize(browser, width)
    browser.takeEvents()
    const url = pathToFileURL(file).href
    await browser.open(url)
    const faults = await browser.evaluate<string[]>(`(() => {${inspection}\nreturn inspect()})()`)
    const complaints = takeComplaints(browser, (asked) => asked === url || asked === 'data:,')
    return [...faults, ...complaints].map((fault) => `${basename(file)}, ${scheme}: ${fault}`)
  }

  describe.each(['light', 'dark'] as const)('that prefers %s', (scheme) => {
    it.each([
      1200, 360,
    ])('shows the page %i pixels wide with nothing cut off, overlapping or pale', async (width) => {
      expect(await look(join(folder, 'report.html'), scheme, width)).toEqual([])
      const counts = await browser.evaluate<number[]>(
        `['svg', 'svg text', 'pre', 'script, img'].map((selector) => document.querySelectorAll(selector).length)`,
      )
      // Otherwise nothing was looked at.
      expect(counts.map((count) => count > 0)).toEqual([true, true, true, false])
    })

    it('shows each chart by itself in the same way', async () => {
      const charts = files.filter((file) => file.endsWith('.svg'))
      expect(charts.length).toBeGreaterThan(12)
      const faults: string[] = []
      for (const chart of charts) faults.push(...(await look(chart, scheme, 720)))
      expect(faults).toEqual([])
    })

    it('shows text that would be markup as text', async () => {
      await look(join(folder, 'report.html'), scheme, 1200)
      const titles = await browser.evaluate<string[]>(
        `[...document.querySelectorAll('h2')].map(({ textContent }) => textContent)`,
      )
      expect(titles.at(-1)).toBe(HOSTILE)
    })
  })

  it('uses other colours in the dark than in the light', async () => {
    const chart = files.find((file) => file.endsWith('all-cpu.svg')) ?? ''
    const colours: string[] = []
    for (const scheme of ['light', 'dark'] as const) {
      await look(chart, scheme, 900)
      colours.push(
        await browser.evaluate<string>(`getComputedStyle(document.querySelector('.chart-panel')).fill`),
      )
    }
    expect(colours).toEqual(['rgb(255, 255, 255)', 'rgb(13, 17, 23)'])
    // What a picture in a README has to bring along: it gets nothing from the page.
    expect(await readFile(chart, 'utf8')).toContain('@media (prefers-color-scheme: dark)')
  })
})
