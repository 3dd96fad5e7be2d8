/** Draws a result: `node bench/report/index.mjs [RESULT.json [DIRECTORY]]`; without a file, the latest one. */
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { toPageCharts, toReadmeCharts, toSections } from './charts.mjs'
import { toHtml } from './html.mjs'
import { toSvg } from './svg.mjs'

/**
 * Writes `report.html`, each of its charts as a file, and the two charts of the README where the run had what they
 * show.
 *
 * @param {import('./figures.mjs').Result} result @param {string} directory which is made where it is missing
 * @returns {Promise<string[]>} the files
 */
export async function renderReport(result, directory) {
  const charts = [
    ...toSections(result).flatMap((section) => section.charts),
    ...toReadmeCharts(result),
    ...toPageCharts(result),
  ]
  const contents = [
    { name: 'report.html', content: toHtml(result) },
    ...charts.map((chart) => ({ name: `${chart.name}.svg`, content: toSvg(chart) })),
  ]
  await mkdir(directory, { recursive: true })
  return Promise.all(
    contents.map(async ({ name, content }) => {
      const file = join(directory, name)
      await writeFile(file, content)
      return file
    }),
  )
}

/** What the last run wrote. */
export const latestResult = fileURLToPath(new URL('../results/latest.json', import.meta.url))

/** @param {string[]} args */
async function main([file = latestResult, directory]) {
  if (file.startsWith('-')) {
    console.error('Usage: node bench/report/index.mjs [RESULT.json [DIRECTORY]]')
    process.exitCode = 2
    return
  }
  /** @type {import('./figures.mjs').Result} */
  let result
  try {
    result = JSON.parse(await readFile(file, 'utf8'))
    if (!Array.isArray(result?.scenarios)) throw new Error('it has no scenarios')
  } catch (error) {
    console.error(`${file} is no result: ${error instanceof Error ? error.message : error}`)
    process.exitCode = 1
    return
  }
  for (const written of await renderReport(result, directory ?? dirname(file))) console.log(written)
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(resolve(process.argv[1])).href)
  await main(process.argv.slice(2))
