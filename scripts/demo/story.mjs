/**
 * What the demo has done, in one screen.
 */

/** @typedef {import('./table.mjs').Row} Row */

/**
 * All cases, played one way.
 *
 * @typedef {object} Play
 * @property {string} engine
 * @property {string} protocol
 * @property {Row[]} rows
 */

/** @param {Row} row */
const toApi = ({ api }) => api.split(/[,(]/)[0] ?? api

/** @param {Row[]} rows */
const countRight = (rows) => rows.filter(({ failure }) => failure === null).length

/** @param {string[][]} rows */
function align(rows) {
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0))) ?? []
  const toLine = (/** @type {string[]} */ row) =>
    row
      .map((cell, at) => (at === 0 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0)))
      .join('  ')
  return rows.map((row) => `  ${toLine(row)}`)
}

/**
 * What was asked, and what came, by API.
 *
 * @param {Play[]} plays
 */
function toCounts(plays) {
  const apis = [...new Set(plays[0]?.rows.map(toApi))]
  const head = ['API', 'asked', ...plays.map(({ engine, protocol }) => `${engine}, ${protocol}`)]
  const rows = apis.map((api) => {
    const own = plays.map(({ rows }) => rows.filter((row) => toApi(row) === api))
    return [api, `${own[0]?.length ?? 0}`, ...own.map((each) => `${countRight(each)}`)]
  })
  return align([head, ...rows])
}

/**
 * What went wrong on purpose.
 *
 * @param {Play[]} plays
 */
function toFailures(plays) {
  const rows = plays[0]?.rows.filter(({ status, failure }) => status !== '200' && failure === null) ?? []
  return rows.map(({ api, status }) => `  ${api}: ${status}`)
}

/**
 * @param {Play[]} plays
 * @param {{ requests: number, node: number, wire: number }} cpu in seconds
 * @returns {string}
 */
export function tell(plays, { requests, node, wire }) {
  const rows = plays.flatMap((play) => play.rows)
  const ratio = (wire / node).toFixed(2)
  const times = `${wire.toFixed(2)} s, and node:http2 ${node.toFixed(2)} s`
  return [
    `Dodici on Node ${process.versions.node}, against a server of its own, which is node:http2.`,
    '',
    'Responses that were as expected, by engine and protocol:',
    ...toCounts(plays),
    '',
    'What went wrong on purpose, and how each call said so:',
    ...toFailures(plays),
    '',
    `${requests.toLocaleString('en-US')} GETs of 1 KiB over h2c, 100 at a time: wire took ${times} of CPU time.`,
    'Each row of it: npm run demo -- --all. A server of yours: npm run demo -- URL',
    '',
    `${countRight(rows)} of ${rows.length} as expected; wire took ${ratio} of node:http2's CPU time.`,
  ].join('\n')
}
