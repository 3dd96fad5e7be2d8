/**
 * docs/faults.md, of what a run has recorded.
 */
import { REASONS } from './reasons.mjs'

/**
 * @typedef {import('./play.mjs').Outcome} Outcome
 *
 * @typedef {object} Row a behaviour
 * @property {string} group
 * @property {string} name
 * @property {'error' | 'response' | 'either'} wants
 * @property {Record<string, Partial<Outcome>>} outcomes by the client's name; in a file, one without a detail lacks it
 *
 * @typedef {object} Recorded
 * @property {string} node
 * @property {{ limit: number, hangs: number, memory: number }} limits milliseconds, milliseconds, KiB
 * @property {{ name: string, version: string }[]} clients
 * @property {Row[]} rows
 */

/** From the best to the worst; each as it stands in a cell, and what it means. */
const VERDICTS = /** @type {const} */ ({
  right: ['✓', 'the request has the outcome that it should have, and the next request gets its response'],
  fails: ['fails', 'the request fails, although it has a whole response, or could safely be sent again'],
  'next fails': ['next fails', 'the next request fails, which the server would have served'],
  accepts: ['accepts', 'a response that is malformed, or not whole, is handed on as a good one'],
  memory: ['memory', 'the process has taken more memory than it may'],
  hangs: ['hangs', 'no outcome, also long after the limit of time that the client was given'],
  'sends twice': ['twice', 'the POST has come to the server twice, which had not said that it may'],
  crashes: ['crashes', 'the process has ended by an error that its user can’t catch'],
})
const ORDER = Object.keys(VERDICTS)

/** @param {string[]} cells */
const toLine = (cells) => `| ${cells.join(' | ')} |`

/** @param {string[][]} lines the first is the head */
function toTable([head = [], ...lines]) {
  const rule = head.map((_cell, index) => (index === 0 ? '---' : ':-:'))
  return [head, rule, ...lines].map(toLine).join('\n')
}

/** @param {Recorded} recorded */
function toSums({ clients, rows }) {
  const lines = clients.map(({ name, version }) => {
    const counts = ORDER.map((verdict) => {
      const count = rows.filter(({ outcomes }) => outcomes[name]?.verdict === verdict).length
      return count === 0 ? '' : `${count}`
    })
    return [`${name}, ${version}`, ...counts]
  })
  return toTable([['', ...Object.values(VERDICTS).map(([cell]) => cell)], ...lines])
}

/** What one client did wrong: each error and how often, the most frequent first. @param {Recorded} recorded @param {string} name */
function toMistakes({ rows }, name) {
  /** @type {Map<string, string[]>} */
  const mistakes = new Map()
  for (const row of rows) {
    const { verdict = 'right', detail = '' } = row.outcomes[name] ?? {}
    if (verdict === 'right') continue
    const what = detail === '' ? verdict : `${verdict}: \`${detail.replaceAll('`', '')}\``
    mistakes.set(what, [...(mistakes.get(what) ?? []), row.name])
  }
  return [...mistakes]
    .sort(([, a], [, b]) => b.length - a.length)
    .map(([what, names]) => `- ${names.length} × ${what}${names.length > 3 ? '' : ` (${names.join('; ')})`}`)
}

/** @param {Recorded} recorded */
function toReasons({ clients, rows }) {
  return clients
    .filter(({ name }) => REASONS[name] !== undefined)
    .flatMap(({ name }) =>
      rows
        .filter((row) => row.outcomes[name]?.verdict !== 'right')
        .map((row) => {
          const reason = REASONS[name]?.[row.name]
          const verdict = row.outcomes[name]?.verdict
          if (reason === undefined)
            throw new Error(`${name} ${verdict} (${row.name}): there is no reason for it`)
          return `- ${name}, ${row.name}: ${verdict}. ${reason}.`
        }),
    )
}

/** @param {Recorded} recorded */
function toGroups({ clients, rows }) {
  const groups = new Set(rows.map(({ group }) => group))
  return [...groups].map((group) => {
    const lines = rows
      .filter((row) => row.group === group)
      .map(({ name, wants, outcomes }) => [
        `${name} *(${wants})*`,
        ...clients.map((client) => VERDICTS[outcomes[client.name]?.verdict ?? 'right'][0]),
      ])
    const head = ['', ...clients.map(({ name }) => name)]
    return `### ${group[0]?.toUpperCase()}${group.slice(1)}\n\n${toTable([head, ...lines])}`
  })
}

/**
 * @param {Recorded} recorded
 * @returns {string} Markdown
 */
export function toPage(recorded) {
  const { node, limits, clients, rows } = recorded
  const others = clients.filter(({ name }) => REASONS[name] === undefined)
  return `# What a server may do to a client

Made by \`npm run faults\` on Node ${node}: edit scripts/faults/, not this page.

The [fault server](testing.md) plays ${rows.length} behaviours over TLS to each client, each behaviour to a fresh connection: one \`POST\`, to which the
server does what the row says, and then one \`GET\`, which it serves. A client has a process of its own, and gets a limit of ${limits.limit / 1_000} s for a
response wherever it takes one. Nothing else is set, but Dodici's \`pingTimeout\`, which is half of that limit.

Behind each behaviour stands what the \`POST\` should come to: *error*, *response*, or *either*.

${Object.values(VERDICTS)
  .map(([cell, meaning]) => `- **${cell}**: ${meaning}.`)
  .join('\n')}

"Hangs" is no outcome after ${limits.hangs / 1_000} s. The limit of memory is ${limits.memory / 1_024} MiB for the process of a client; Go's client has a process of its own, whose memory isn't
looked at.

## In short

How many of the ${rows.length} rows ended so:

${toSums(recorded)}

## Where Dodici is worse than another client

${toReasons(recorded).join('\n')}

## What the others did

The mistakes of each client, by the error that its user sees. Where a line has at most three rows, it names them.

${others.map(({ name }) => `**${name}**\n\n${toMistakes(recorded, name).join('\n')}`).join('\n\n')}

## Every behaviour

${toGroups(recorded).join('\n\n')}
`
}

/**
 * The record as a file: one line for each behaviour, so that a diff shows what has changed.
 *
 * @param {Recorded} recorded
 */
export function toFile({ rows, ...others }) {
  const lines = rows.map(
    (row) =>
      `    ${JSON.stringify(row, (key, value) => (key === 'detail' && value === '' ? undefined : value))}`,
  )
  const head = JSON.stringify(others, null, 2).replace(/\n}$/, '')
  return `${head},\n  "rows": [\n${lines.join(',\n')}\n  ]\n}\n`
}
