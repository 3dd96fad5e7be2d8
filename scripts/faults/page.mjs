/** docs/faults.md, of what a run has recorded. */
import { toFile as toRecordFile, toTable } from '../page.mjs'
import { VERDICTS } from './play.mjs'

/**
 * @typedef {import('./play.mjs').Outcome} Outcome
 *
 * @typedef {object} Row a behaviour
 * @property {string} group
 * @property {string} name
 * @property {import('./behaviours.mjs').Wanted} wants
 * @property {Record<string, Partial<Outcome>>} outcomes by the client's name; in a file, one without a detail lacks it
 *
 * @typedef {object} Recorded
 * @property {string} node
 * @property {number} rounds
 * @property {{ limit: number, pause: number, hangs: number, memory: number }} limits milliseconds; the memory in KiB
 * @property {{ name: string, version: string }[]} clients
 * @property {Row[]} rows
 */

const VALUES = 'node:http2 removes such a field before Dodici sees the header section, and reports no error'
const SMALL_DATA =
  'Frames of one octet are legal, and real servers send them: Dodici counts such DATA by its octets, and the budget isn’t used up. The body has no end; its limit of time ends it'
const UNKNOWN =
  'A client has to ignore frames of unknown types (RFC 9113 §4.1). Each counts once, whatever its size, and 8 MB of large ones are too few for the budget'

/**
 * Why an outcome of Dodici's isn't the right one, or comes by the limit of time alone, by engine and behaviour. The page has no such
 * outcome without its reason, and no reason without its outcome.
 *
 * @type {Readonly<Record<string, Readonly<Record<string, string>>>>}
 */
const REASONS = {
  'dodici (wire)': {
    'DATA of 1 byte': SMALL_DATA,
    'DATA of 1 byte between junk': SMALL_DATA,
    'unknown frames, large': UNKNOWN,
  },
  'dodici (node)': {
    'an empty name': VALUES,
    'a name with a space': VALUES,
    'a value with a line feed': VALUES,
    'a value with a NUL': VALUES,
    'PRIORITY on stream 0':
      'nghttp2 ignores PRIORITY frames, which RFC 9113 deprecates, and Dodici doesn’t hear of them',
    'DATA of 1 byte': SMALL_DATA,
  },
}

const CELL = ':-:'

/** @param {Recorded} recorded */
function toSums({ clients, rows }) {
  const lines = clients.map(({ name, version }) => [
    `${name}, ${version}`,
    ...Object.keys(VERDICTS).map((verdict) => {
      const count = rows.filter(({ outcomes }) => outcomes[name]?.verdict === verdict).length
      return count === 0 ? '' : `${count}`
    }),
  ])
  return toTable([['', ...Object.values(VERDICTS).map(([cell]) => cell)], ...lines], CELL)
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
  return [...new Set(rows.map(({ group }) => group))].map((group) => {
    const lines = rows
      .filter((row) => row.group === group)
      .map(({ name, wants, outcomes }) => [
        `${name} *(${wants})*`,
        ...clients.map((client) => {
          const { verdict = 'right', isUnsteady = false } = outcomes[client.name] ?? {}
          return `${VERDICTS[verdict][0]}${isUnsteady ? '*' : ''}`
        }),
      ])
    const table = toTable([['', ...clients.map(({ name }) => name)], ...lines], CELL)
    return `### ${group[0].toUpperCase()}${group.slice(1)}\n\n${table}`
  })
}

/** @param {Recorded} recorded @returns {string} Markdown */
export function toPage(recorded) {
  const { node, rounds, limits, clients, rows } = recorded
  const others = clients.filter(({ name }) => REASONS[name] === undefined)
  return `# What a server may do to a client

Made by \`npm run faults\` on Node ${node}: edit scripts/faults/, not this page.

The [fault server](testing.md) plays ${rows.length} behaviours over TLS to each client, each behaviour to a fresh connection: one \`POST\`, to which the
server does what the row says, and then one \`GET\`, which it serves. The \`GET\` is sent in the turn of the event loop in which the \`POST\` has
ended. Where it fails, or the process ends, the row is played once more with ${limits.pause} ms between the two: many a client only needs the time to hear of
the end of its connection. Each row is played ${rounds} times to each client; the worst outcome counts, and a star marks one that had a better outcome at
another time. A client has a process of its own.

What each client is given, beside the certificate:

- a limit of ${limits.limit / 1_000} s for a response, for a pause within its body and for connecting, wherever it takes one;
- PINGs after ${limits.limit / 4} ms of silence, with ${limits.limit / 4} ms for the ACK: Dodici, connect-node, Go; undici has no limit for the ACK;
- nothing else: got retries a GET by itself. node:http2 has no pool: it gets a new session for each request, so that its next request can't fail.
  Built-in fetch speaks HTTP/1.1 on this line: it gets an Agent of npm's undici with \`allowH2\`.

Behind each behaviour stands what the \`POST\` should come to: *error*, *response*, or *either*. A response has to be whole.

${Object.values(VERDICTS)
  .map(([cell, meaning]) => `- **${cell}**: ${meaning}.`)
  .join('\n')}

"Hangs" is no outcome after ${limits.hangs / 1_000} s. A process may grow by ${limits.memory / 1_024} MiB; where it grows by more, the row is played again to a fresh one, whose outcome
counts. Go's client is a program that ends after each row; its memory isn't looked at. Rows that only a limit of time can end have no "late".

## In short

How many of the ${rows.length} rows ended so:

${toSums(recorded)}

## Where Dodici has another outcome than the right one

${toReasons(recorded).join('\n')}

## What the others did

The mistakes of each client, by the error that its user sees. Where a line has at most three rows, it names them.

${others.map(({ name }) => `**${name}**\n\n${toMistakes(recorded, name).join('\n')}`).join('\n\n')}

## Every behaviour

${toGroups(recorded).join('\n\n')}
`
}

/** The record as a file. @param {Recorded} recorded */
export function toFile({ rows, ...others }) {
  const withoutEmpty = (/** @type {string} */ key, /** @type {unknown} */ value) =>
    key === 'detail' && value === '' ? undefined : value
  return toRecordFile(others, { rows: rows.map((row) => JSON.stringify(row, withoutEmpty)) }, '[]')
}
