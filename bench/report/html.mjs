/** The report as one page that needs nothing else: no network, no script. */
import { describe, toTables } from '../e2e/print.mjs'
import { toSections } from './charts.mjs'
import { peerClient, referenceClient } from './figures.mjs'
import { escapeMarkup, FONT_FAMILY, inBoth } from './markup.mjs'
import { toSvg } from './svg.mjs'

const style = `
:root { color-scheme: light dark; }
body { font: 15px/1.5 ${FONT_FAMILY}; margin: 0 auto; padding: 24px 16px; max-width: 1180px; overflow-wrap: anywhere; }
svg.chart { display: block; max-width: 100%; height: auto; margin: 16px 0; }
pre { overflow-x: auto; overflow-wrap: normal; }
${inBoth(({ panel, ink }) => `body { background: ${panel}; color: ${ink}; }`)}
`

/** Nothing may be fetched, and nothing may run, whatever a name in the result says. */
const policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"

/** @param {ReturnType<typeof toSections>[number]} section */
function toSectionMarkup({ scenario, charts }) {
  const { name, warmup, requests, entries } = scenario
  const tables = toTables(scenario, entries, [referenceClient, peerClient])
  return `<h2>${escapeMarkup(name)}</h2>
<p>${escapeMarkup(`${describe(scenario)}; ${requests} requests after ${warmup} to warm up`)}</p>
${charts.map(toSvg).join('\n')}
<pre tabindex="0">${escapeMarkup(tables)}</pre>`
}

/** @param {import('./figures.mjs').Result} result @returns {string} */
export function toHtml(result) {
  const { date, command, revision, machine, rounds } = result
  const facts = { date, command, revision, rounds, ...machine }
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<title>Dodici benchmarks, ${escapeMarkup(date)}</title>
<link rel="icon" href="data:,">
<style>${style}</style>
</head>
<body>
<main>
<h1>Dodici benchmarks</h1>
<pre tabindex="0">${escapeMarkup(JSON.stringify(facts, null, 2))}</pre>
<p>Figures are medians of the rounds, with the lowest and the highest. A ratio is the median of the ratios within a round,
with its 95 % interval: one that holds 1.00 means that this run shows no difference. CPU time is that of all threads of the
client, for each request. Compare figures only within a run.</p>
${toSections(result).map(toSectionMarkup).join('\n')}
</main>
</body>
</html>
`
}
