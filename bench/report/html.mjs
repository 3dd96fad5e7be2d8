/** The report as one page that needs nothing else: no network, no script. */
import { describe } from '../e2e/print.mjs'
import { toRatioText } from '../e2e/statistics.mjs'
import { toSections } from './charts.mjs'
import {
  basesOf,
  figures,
  formatWhole,
  labelOf,
  peerClient,
  ratioOf,
  referenceClient,
  spreadOf,
  toSpreadText,
} from './figures.mjs'
import { escapeMarkup, FONT_FAMILY, inBoth } from './markup.mjs'
import { toSvg } from './svg.mjs'

/**
 * @typedef {import('./figures.mjs').Result} Result
 * @typedef {import('./figures.mjs').MeasuredScenario} MeasuredScenario
 */

const style = `
:root { color-scheme: light dark; }
body { font: 15px/1.5 ${FONT_FAMILY}; margin: 0 auto; padding: 24px 16px 48px; max-width: 1180px; overflow-wrap: anywhere; }
h1 { font-size: 26px; margin: 0 0 16px; }
h2 { font-size: 20px; margin: 40px 0 4px; }
h3 { font-size: 15px; margin: 24px 0 8px; }
p { margin: 0 0 12px; max-width: 80ch; }
dl { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: 2px 16px; margin: 0 0 16px; }
dd { margin: 0; }
figure { margin: 16px 0; }
svg.chart { display: block; max-width: 100%; height: auto; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: 13px; }
th, td { padding: 4px 10px; text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
th:first-child, td:first-child, th:nth-child(2), td:nth-child(2) { text-align: left; }
th:first-child { white-space: normal; min-width: 120px; max-width: 260px; font-weight: 600; }
${inBoth(
  ({ panel, ink, muted, line, ours, reference }) => `body { background: ${panel}; color: ${ink}; }
dt, .muted { color: ${muted}; }
a { color: ${ours}; }
th, td { border-bottom: 1px solid ${line}; }
:focus-visible { outline: 2px solid ${reference}; }`,
)}
`

/** Nothing may be fetched, and nothing may run, whatever a name in the result says. */
const policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"

/** @param {readonly (readonly [string, string | null | undefined])[]} facts null: not known */
function toFacts(facts) {
  return facts
    .flatMap(([name, value]) =>
      value == null ? [] : [`<dt>${escapeMarkup(name)}</dt><dd>${escapeMarkup(value)}</dd>`],
    )
    .join('\n')
}

/** @param {Result} result */
function toHead({ date, command, machine, revision, rounds, scenarios }) {
  const { cpu, cores, memory, platform, node, server, http1Server, pinned, loadBefore } = machine
  const versions = new Map(
    scenarios.flatMap(({ entries }) =>
      entries.map((entry) => [labelOf(entry), entry.version ?? entry.rounds[0]?.version ?? '']),
    ),
  )
  const known = [...versions].filter(([, version]) => version !== '')
  return toFacts([
    ['Date', date],
    ['Command', command ?? null],
    ['Revision', revision ? `${revision.hash}${revision.isDirty ? ', with changes on top' : ''}` : null],
    [
      'Machine',
      `${cpu}, ${cores} cores${memory ? `, ${formatWhole(memory / 2 ** 30)} GiB of memory` : ''}, ${platform}`,
    ],
    ['Node', node],
    ['Server', server],
    ['Server for HTTP/1.1', http1Server ?? null],
    ['Cores', pinned ? `client on ${pinned.client}, server on ${pinned.server}` : 'not pinned'],
    ['Load before', loadBefore === undefined ? null : loadBefore.toFixed(2)],
    ['Rounds', rounds === undefined ? null : String(rounds)],
    ['Clients', known.map(([label, version]) => `${label} ${version}`).join('; ') || null],
  ])
}

/**
 * @param {string} caption
 * @param {readonly (readonly string[])[]} rows the first one is the head, the first cell of each the head of its row
 */
function toTable(caption, [head = [], ...rows]) {
  /** @param {string} text @param {string} scope */
  const th = (text, scope) => `<th scope="${scope}">${escapeMarkup(text)}</th>`
  const body = rows.map(([first = '', ...cells]) => {
    return `<tr>${th(first, 'row')}${cells.map((cell) => `<td>${escapeMarkup(cell)}</td>`).join('')}</tr>`
  })
  // One can scroll a wide table by keys only when it takes the focus.
  return `<h3>${escapeMarkup(caption)}</h3>
<div class="scroll" role="region" aria-label="${escapeMarkup(caption)}" tabindex="0"><table>
<thead><tr>${head.map((text) => th(text, 'col')).join('')}</tr></thead>
<tbody>
${body.join('\n')}
</tbody></table></div>`
}

/** @param {MeasuredScenario} scenario */
function toFigureTable({ name, entries }) {
  const told = figures.filter(({ key }) => entries.some((entry) => spreadOf(entry, key) !== null))
  const rows = entries.map((entry) => [
    labelOf(entry),
    entry.api,
    ...told.map((figure) => toSpreadText(figure, spreadOf(entry, figure.key))),
  ])
  return toTable(`Figures of ${name}`, [['client', 'API', ...told.map(({ label }) => label)], ...rows])
}

/** @param {MeasuredScenario} scenario */
function toRatioTable(scenario) {
  const { name, entries } = scenario
  const rows = entries.map((entry) => {
    const { reference, peer } = basesOf(entry, scenario, entries)
    const cells = [reference, peer].flatMap((base) =>
      figures.map(({ key }) => toRatioText(ratioOf(entry, base, key))),
    )
    return [labelOf(entry), entry.api, ...cells]
  })
  const names = [referenceClient, peerClient].flatMap((base) =>
    figures.map(
      ({ label }) => `${label.replace(/ MiB$/, '')} ÷ ${base === referenceClient ? 'node:http2' : base}`,
    ),
  )
  const head = ['client', 'API', ...names]
  const used = head.map((_, column) => column < 2 || rows.some((row) => row[column] !== '-'))
  /** @param {string[]} row */
  const toUsed = (row) => row.filter((_, column) => used[column])
  if (toUsed(head).length === 2) return ''
  return toTable(
    `Ratios of ${name}`,
    [head, ...rows.filter((row) => row.slice(2).some((cell) => cell !== '-'))].map(toUsed),
  )
}

/** @param {ReturnType<typeof toSections>[number]} section */
function toSectionMarkup({ scenario, slug, charts }) {
  const { name, warmup, requests, entries } = scenario
  const isPaced = entries.some((entry) => (entry.requests ?? requests) < requests)
  const count = `${formatWhole(requests)} requests after ${formatWhole(warmup)} to warm up${isPaced ? ', fewer of a slow client' : ''}`
  return `<section aria-labelledby="${escapeMarkup(slug)}">
<h2 id="${escapeMarkup(slug)}">${escapeMarkup(name)}</h2>
<p class="muted">${escapeMarkup(`${describe(scenario)}; ${count}`)}</p>
${charts.map((chart) => `<figure>\n${toSvg(chart)}</figure>`).join('\n')}
${toFigureTable(scenario)}
${toRatioTable(scenario)}
</section>`
}

/** @param {Result} result @returns {string} */
export function toHtml(result) {
  const sections = toSections(result)
  const links = sections.map(
    ({ slug, scenario }) => `<a href="#${escapeMarkup(slug)}">${escapeMarkup(scenario.name)}</a>`,
  )
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<title>Dodici benchmarks, ${escapeMarkup(result.date)}</title>
<link rel="icon" href="data:,">
<style>${style}</style>
</head>
<body>
<main>
<h1>Dodici benchmarks</h1>
<dl>
${toHead(result)}
</dl>
<p>Figures are medians of the rounds, with the lowest and the highest. A ratio is the median of the ratios within a round,
with its 95 % interval: one that holds 1.00 means that this run shows no difference. CPU time is that of all threads of the
client, for each request. Compare figures only within a run.</p>
<nav aria-label="Scenarios">${links.join(' · ')}</nav>
${sections.map(toSectionMarkup).join('\n')}
</main>
</body>
</html>
`
}
