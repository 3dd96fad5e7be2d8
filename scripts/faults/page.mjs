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
  'Frames of one octet are legal, and real servers send them, so Dodici counts such DATA by its octets, and it doesn’t use up the budget. The body never ends, so a timeout ends the call'
const UNKNOWN =
  'A client must ignore frames of unknown types (RFC 9113 §4.1). Each counts once, whatever its size, and 8 MB of large frames are too few to use up the budget'

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
      'nghttp2 ignores PRIORITY frames, which RFC 9113 deprecates, and doesn’t tell Dodici about them',
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
  return `# Faults: what a server may do to a client

This page shows how Dodici and other clients cope with a server that misbehaves. \`npm run faults\` wrote it, on Node ${node}: edit scripts/faults/, not this
page.

The [fault server](testing.md) plays ${rows.length} behaviours over TLS with each client, each on a new connection. The client sends a \`POST\`, and the server does
what the row says. Then the client sends a \`GET\`, in the same turn of the event loop in which the \`POST\` has ended, and the server answers it. If the \`GET\`
fails, or the process ends, the row is played again with ${limits.pause} ms between the two, because many clients only need time to notice that their connection
has ended. Each row is played ${rounds} times with each client. The worst outcome counts, and a star marks a row that had a better outcome another time. Each client
has its own process.

In addition to the certificate, each client gets:

- a timeout of ${limits.limit / 1_000} s for a response, for a pause in its body and for connecting, where the client has such options;
- PINGs after ${limits.limit / 4} ms of silence, with ${limits.limit / 4} ms for the ACK: Dodici, connect-node and Go. undici has no limit for the ACK;
- no other options. got retries a GET by default. node:http2 has no pool, so it gets a new session for each request, and its next request can't fail. The
  built-in fetch of this Node.js version speaks HTTP/1.1, so it gets an \`Agent\` from npm's undici with \`allowH2\`.

After its name, each behaviour says how the \`POST\` should end: with an *error*, with a *response*, or with *either*. A response must be complete.

${Object.values(VERDICTS)
  .map(([cell, meaning]) => `- **${cell}**: ${meaning}.`)
  .join('\n')}

A request that hasn't ended after ${limits.hangs / 1_000} s hangs. A process may grow by ${limits.memory / 1_024} MiB; if it grows by more, the row is played again in a new process, whose outcome
counts. Go's client is a program that ends after each row, so its memory isn't measured. Rows that only a timeout can end have no "late".

## In short

How many of the ${rows.length} rows had each outcome:

${toSums(recorded)}

## Where Dodici doesn't have the right outcome

${toReasons(recorded).join('\n')}

## What the others did

How each client failed, grouped by the error that its user sees. A line that stands for at most three rows names them.

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
