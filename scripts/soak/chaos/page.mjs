/** The page of what chaos runs have recorded. */
import { toQuantile } from './record.mjs'

/** @typedef {import('./record.mjs').EngineRecord} EngineRecord */

/** Minutes between two rows of the memory, of all that was recorded. */
const ROW = 30

const INTRODUCTION = `# Chaos: real servers and a bad network

This page is generated: \`node scripts/soak/report.mjs docs/chaos.json > docs/chaos.md\`. The record is made by runs that can be
repeated and resumed, each with a new seed:

\`\`\`
scripts/install-servers.sh
npm run soak -- --chaos --engine node --minutes 30 --state docs/chaos.json
npm run soak -- --chaos --engine wire --minutes 30 --state docs/chaos.json
\`\`\`

Calls of every kind (requests, streams, pipelines, uploads, aborts, \`fetch\`, tunnels, WebSockets over HTTP/2, gRPC) go to real
servers, over h2c, through a relay in a process of its own. The relay never changes a byte. By its seed, it has a fault every few
seconds, of each server by itself:

| fault | what the relay does |
| --- | --- |
| delay, jitter | passes each chunk on after up to 200 ms |
| split | cuts what comes together into pieces, down to one byte |
| stall | passes nothing on for up to 3 s, in one direction or both, and then all of it |
| hole | passes nothing on for 1 to 3 s, and then resets all connections |
| dead | passes nothing on any more for the connections that there are; new ones are passed on after up to 1.5 s |
| resets | resets connections again and again for up to 2 s |
| refuse | resets all connections, and each new one, for up to 2 s |
| halfClose | closes one half of each connection, and resets it later |
| cut | resets each connection after some more bytes, in the middle of a frame |

What a run is judged by:

- Each call settles once, with a right outcome or with an error of Dodici's own; each dispatcher ends.
- No POST that may not be sent twice was taken twice. The origins count this. nghttpd and grpc-go don't count.
- The heap is what it was after the warm-up, and RSS doesn't grow.
- After a fault's end, a GET through the same relay on the same long-lived Pool succeeds within a second. What the machine needs is
  measured meanwhile, by a GET by a way without faults, and added. Such a Pool has a \`pingInterval\` of 200 ms and a \`pingTimeout\`
  of 500 ms.
- A call by the way without faults never fails.
- No GOAWAY of the client has a code other than NO_ERROR, but in two cases, of which the relay sees the frames: a server that responds to the
  preface over HTTP/1.1, as Apache does where the preface comes in pieces; and a server that sends DATA beyond a window.

What such runs have found, and what was done:

- WebSockets through Envoy and HAProxy to a backend over HTTP/1.1 didn't open; a refused WebSocket ended the process; a reconnect took more than a
  second. All three were the client's, and are mended.
- POSTs came twice behind Apache 2.4.71. It ends a connection with GOAWAY and the code 0xfffffc7a, which is an error of nghttp2's own (-902). Streams
  above the last stream id of that GOAWAY had gone to its backend: stream 967, for example, where the last stream id was 947. RFC 9113 §6.8 lets a client
  send those again. Since then, streams above the last stream id of a GOAWAY whose code is a negative number count as maybe processed.
- A server that passes on byte for byte what comes to it byte for byte was cut off with ENHANCE_YOUR_CALM: it sent one-byte DATA frames until it heard of a
  reset. Such frames count by their bytes since then.
- Engine \`node\` ended connections to nginx with GOAWAY and FLOW_CONTROL_ERROR. It is nginx's: if a SETTINGS frame comes in two reads, cut behind its
  SETTINGS_INITIAL_WINDOW_SIZE, nginx 1.22.1 acknowledges it and goes on with the window of before (1,000 bytes were allowed, 20,000 came; each of two
  such cuts, and none without). It matters where the window is set below 65,535 bytes. Such a GOAWAY counts as earned now; before, it was a violation.
- Late recoveries from \`dead\` at grpc-go, after 1.1 to 1.4 s: grpc-go ends connections whose client sends PINGs oftener than it permits. Each time, the
  Pool doubles its \`pingInterval\`, here to 800 ms; with a \`pingTimeout\` of 500 ms a dead connection is found after 1.3 s.
- RSS makes steps of 20 to 50 MB, while the heap stays as it is. The cause is garbage that waits for V8, and how glibc's malloc keeps memory. Of malloc's
  memory 9 to 14 MB are in use at most looks (\`mallinfo2()\`, every 20 s), but up to 53 MB when V8 hasn't collected for a while: octets that were read and
  sent. malloc keeps what the highest such peak has taken, 63 and 74 MB. \`malloc_trim()\` gave 34 and 26 MB of it back. With a collection every
  two seconds malloc had 36 and 41 MB, and RSS stayed at 162 to 166 and 172 to 176 MB from minute 12 on (run 6). In the run of 115 minutes it went from
  210 and 200 MB after 12 minutes to 237 and 228 MB. Two of the first three runs of engine \`node\` broke the bound of 40 MB by such steps: these are
  the violations below. No later run did.
`

/** @param {number} count */
const format = (count) => count.toLocaleString('en-US')

/** @param {string[]} head @param {(string | number)[][]} rows */
function toTable(head, rows) {
  const line = (/** @type {(string | number)[]} */ cells) =>
    `| ${cells.map((cell) => (typeof cell === 'number' ? format(cell) : cell.replaceAll('|', '\\|'))).join(' | ')} |`
  return [line(head), line(head.map((_, i) => (i === 0 ? '---' : '---:'))), ...rows.map(line)].join('\n')
}

/** @param {Record<string, number>} counts */
const sum = (counts) => Object.values(counts).reduce((total, count) => total + count, 0)

/** @param {EngineRecord} record */
function toHours({ seconds }) {
  return (seconds / 3_600).toFixed(2)
}

/** @param {EngineRecord} record @param {number} share */
const quantile = ({ recoveries }, share) => `${format(toQuantile(recoveries, share))} ms`

/** @type {readonly (readonly [string, (record: EngineRecord) => string | number])[]} */
const SUMMARY = [
  ['hours', toHours],
  ['runs', ({ runs }) => runs],
  ['calls', ({ calls }) => calls],
  ['connections', ({ connections }) => connections],
  ['faults', ({ faults }) => sum(faults)],
  ['POSTs that were counted', ({ posts }) => sum(posts)],
  ['of these, sent twice', ({ twice }) => twice],
  ["GOAWAYs of the client's", ({ goaways }) => sum(goaways)],
  ['of these, with an error that the server has earned', ({ earned }) => sum(earned)],
  [
    'of these, with an unearned error',
    ({ goaways, earned }) => sum(goaways) - (goaways[0] ?? 0) - sum(earned),
  ],
  ['recoveries measured', ({ recoveries }) => sum(recoveries)],
  ['recovery, median', (record) => quantile(record, 0.5)],
  ['recovery, 99 %', (record) => quantile(record, 0.99)],
  ['recovery, longest', (record) => quantile(record, 1)],
  ["later than a second and the machine's delay", ({ late }) => late],
  ['violations', ({ violationCount }) => violationCount],
]

/**
 * One row for each name in any engine's counts.
 *
 * @param {string} title @param {[string, EngineRecord][]} engines
 * @param {(record: EngineRecord) => Record<string, number>} select
 */
function toCountTable(title, engines, select) {
  const names = [...new Set(engines.flatMap(([, record]) => Object.keys(select(record))))]
  const total = (/** @type {string} */ name) =>
    engines.reduce((all, [, record]) => all + (select(record)[name] ?? 0), 0)
  names.sort((a, b) => total(b) - total(a) || (a < b ? -1 : 1))
  const rows = names.map((name) => [name, ...engines.map(([, record]) => select(record)[name] ?? 0)])
  return toTable([title, ...engines.map(([name]) => name)], rows)
}

/** The last mark of each half hour of all runs together. @param {EngineRecord} record */
function toMemory({ marks }) {
  /** @type {Map<number, import('./record.mjs').Mark>} */
  const rows = new Map()
  let before = 0
  let [run, minute] = [0, 0]
  for (const mark of marks) {
    if (mark.run !== run) before += minute
    ;[run, minute] = [mark.run, mark.minute]
    rows.set(Math.ceil((before + minute) / ROW) * ROW, mark)
  }
  return rows
}

/** @param {[string, EngineRecord][]} engines */
function toMemoryTable(engines) {
  const columns = engines.map(([, record]) => toMemory(record))
  const minutes = [...new Set(columns.flatMap((rows) => [...rows.keys()]))].sort((a, b) => a - b)
  const rows = minutes.map((minute) => [
    `${minute / 60} h`,
    ...columns.flatMap((column) => {
      const mark = column.get(minute)
      return mark === undefined ? ['', '', ''] : [`${mark.run}`, `${mark.rss}`, `${mark.heap}`]
    }),
  ])
  const head = engines.flatMap(([name]) => [`${name}: run`, 'RSS, MB', 'heap, MB'])
  return toTable(['until', ...head], rows)
}

/** @param {[string, EngineRecord][]} engines @param {'violations' | 'lateNotes'} name */
function toNotes(engines, name) {
  const notes = engines.flatMap(([engine, record]) =>
    record[name].map((note) => `- ${engine}: ${note.split('\n')[0]}`),
  )
  return notes.length === 0 ? 'None.' : notes.join('\n')
}

/** @param {import('./record.mjs').State} state */
export function toPage({ node, versions, missing, notes = [], engines: all }) {
  const engines = Object.entries(all).sort(([a], [b]) => (a < b ? -1 : 1))
  const names = engines.map(([name]) => `engine ${name}`)
  const rows = SUMMARY.map(([title, select]) => [title, ...engines.map(([, record]) => select(record))])
  const servers = Object.entries(versions).map(([name, version]) =>
    name.startsWith('Node') ? `Node ${version}` : `${name} ${version}`,
  )
  return `${INTRODUCTION}
Client: Node ${node.join(', ')}. Servers: ${servers.join(', ')}.
${missing.length === 0 ? 'None was left out.' : `Left out: ${missing.join(', ')}.`}
Those of nginx, Apache, Envoy, HAProxy, h2o and Caddy stand in front of one origin over HTTP/1.1, and retry nothing.
WebSockets go to Envoy and HAProxy; Hypercorn 0.18 speaks them as well, but doesn't end the stream of one that the client closes, and drops the
connection after one that it closes itself. Tunnels go to Go and Node.
${notes.map((note) => `\n${note}\n`).join('')}
## Result

${toTable(['', ...names], rows)}

## Violations

${toNotes(engines, 'violations')}

## Late recoveries

The last ones.

${toNotes(engines, 'lateNotes')}

## Memory

Of the client's process alone, under load; each run is a new process. RSS is taken as it is, the heap after a garbage collection.

${toMemoryTable(engines)}

## Faults

${toCountTable('fault', engines, ({ faults }) => faults)}

## GOAWAYs with an error that the server has earned

${toCountTable('why', engines, ({ earned }) => earned)}

## Calls by server

${toCountTable('server', engines, (record) => record.servers)}

## Calls by kind

${toCountTable('kind', engines, ({ kinds }) => kinds)}

## Calls by outcome

A call that was on its way when a fault came may fail. Its error then says whether the server may have processed it.

${toCountTable('outcome', engines, ({ outcomes }) => outcomes)}

## Errors

${toCountTable('error', engines, ({ errors }) => errors)}

## POSTs that were taken, by who has counted them

${toCountTable('', engines, ({ posts }) => posts)}
`
}
