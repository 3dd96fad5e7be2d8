/**
 * How fast one large response comes over a long link: `node bench/e2e/latency.mjs --help`.
 */
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { connect as connectHttp2 } from 'node:http2'
import { connect, createServer } from 'node:net'
import { arch, platform, release } from 'node:os'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { outputOf, start } from './children.mjs'
import { latencyClients } from './latency-clients.mjs'
import { describeMachine } from './machine.mjs'
import { defaultServer, runMain, UsageError } from './options.mjs'
import { nghttpdVersion, startRelay, startServer } from './servers.mjs'
import { median } from './statistics.mjs'

/** @typedef {import('./latency-worker.mjs').LatencyMeasurement} LatencyMeasurement */

/**
 * @typedef {object} Entry one row
 * @property {string} label
 * @property {string} client
 * @property {object} options
 * @property {LatencyMeasurement[]} rounds
 */

const MEBIBYTE = 2 ** 20

const help = `Usage: node bench/e2e/latency.mjs [options]

  --rtt MS        the round trip (default: 50)
  --size MIB      of the response, in MiB (default: 64)
  --rounds N      how often every client is measured (default: 5)
  --limit S       seconds after which a download is cut off: its rate is that of what came (default: 5)
  --window A,B    a further row of dodici for each, with initialWindowSize and connectionWindowSize of so many MiB
  --clients A,B   ${Object.keys(latencyClients).join(', ')} (default: all)
  --server KIND   nghttpd or node (default: nghttpd where it is installed)
  --node FILE     the Node binary that runs clients and relay (default: this one)
  --dodici FILE   the build of dodici to measure (default: dist/ of this package)
  --json FILE     write all rounds there
`

/**
 * @param {string} name
 * @param {string | undefined} value
 * @param {number} fallback
 */
function positive(name, value, fallback) {
  const number = value === undefined ? fallback : Number(value)
  if (!(number > 0)) throw new UsageError(`--${name} must be a number above 0`)
  return number
}

function readOptions() {
  const text = /** @type {const} */ ({ type: 'string' })
  const names = ['rtt', 'size', 'rounds', 'limit', 'window', 'clients', 'server', 'node', 'dodici', 'json']
  /** @type {Record<string, any>} */
  let values
  try {
    const options = Object.fromEntries(names.map((name) => [name, text]))
    values = parseArgs({ options: { ...options, help: { type: 'boolean', short: 'h' } } }).values
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error))
  }
  if (values.help === true) return null
  const clients = values.clients?.split(',') ?? Object.keys(latencyClients)
  for (const name of clients) {
    if (latencyClients[name] === undefined) throw new UsageError(`--clients: no ${name}`)
  }
  const kind = values.server ?? defaultServer
  if (kind !== 'node' && kind !== 'nghttpd') throw new UsageError('--server must be nghttpd or node')
  return {
    rtt: values.rtt === '0' ? 0 : positive('rtt', values.rtt, 50),
    size: Math.round(positive('size', values.size, 64) * MEBIBYTE),
    rounds: Math.ceil(positive('rounds', values.rounds, 5)),
    limit: positive('limit', values.limit, 5),
    windows: (values.window?.split(',') ?? []).map((/** @type {string} */ mib) => positive('window', mib, 0)),
    clients: /** @type {string[]} */ (clients),
    kind: /** @type {'nghttpd' | 'node'} */ (kind),
    node: values.node ?? process.execPath,
    dodici: values.dodici,
    json: values.json,
  }
}

/**
 * @param {NonNullable<ReturnType<typeof readOptions>>} options
 * @param {string} nodeVersion
 * @returns {Entry[]}
 */
function toEntries({ clients, windows }, nodeVersion) {
  const [major = 0, minor = 0] = nodeVersion.split('.').map(Number)
  const usable = clients.filter((client) => {
    const { label, minNode } = latencyClients[client]
    const isUsable = major > minNode[0] || (major === minNode[0] && minor >= minNode[1])
    if (!isUsable)
      console.log(`${label} needs Node ${minNode.join('.')}, and this is ${nodeVersion}: left out`)
    return isUsable
  })
  const entries = usable.map((client) => {
    return { label: `${latencyClients[client].label}, defaults`, client, options: {}, rounds: [] }
  })
  const tuned = windows.map((mib) => {
    const bytes = Math.round(mib * MEBIBYTE)
    const options = { initialWindowSize: bytes, connectionWindowSize: bytes }
    return { label: `dodici Client, windows of ${mib} MiB`, client: 'dodici', options, rounds: [] }
  })
  return [...entries, ...tuned]
}

/**
 * What the relay itself lets through, without HTTP/2: from the first byte to the last one.
 *
 * @param {string} node
 * @param {number} rtt
 * @returns {Promise<number>} MB/s
 */
async function measureRelay(node, rtt) {
  const total = 512 * MEBIBYTE
  const piece = Buffer.alloc(MEBIBYTE, 'a')
  let bytes = 0
  let begun = 0
  let sent = 0
  /** @type {import('node:net').Socket | null} */
  let sender = null
  // As HTTP/2 does it: so much on its way, and no more.
  const send = () => {
    for (; sent < total && sent < bytes + 64 * MEBIBYTE; sent += piece.length) sender?.write(piece)
    if (sent === total) sender?.end()
  }
  const source = createServer((socket) => {
    sender = socket
    send()
  }).listen(0, '127.0.0.1')
  await once(source, 'listening')
  const address = source.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  const relay = await startRelay(node, address.port, rtt)
  /** @param {number} length */
  const callback = (length) => {
    if (bytes === 0) begun = performance.now()
    bytes += length
    send()
    return true
  }
  // Into one buffer again and again: otherwise what is measured is this process's collection of garbage.
  const socket = connect({
    port: relay.port,
    host: '127.0.0.1',
    onread: { buffer: Buffer.alloc(MEBIBYTE), callback },
  })
  await once(socket, 'end')
  const seconds = (performance.now() - begun) / 1_000
  source.close()
  await relay.stop()
  if (bytes !== total) throw new Error(`the relay let ${bytes} bytes through, of ${total}`)
  return bytes / seconds / 1e6
}

/**
 * The round trip as HTTP/2 sees it.
 *
 * @param {string} origin
 * @returns {Promise<number>} in milliseconds
 */
async function measureRtt(origin) {
  const session = connectHttp2(origin)
  await once(session, 'remoteSettings')
  const times = []
  for (let count = 0; count < 9; count++) {
    /** @type {number} */
    const time = await new Promise((resolve, reject) => {
      session.ping((error, duration) => (error === null ? resolve(duration) : reject(error)))
    })
    times.push(time)
  }
  session.destroy()
  return median(times)
}

/**
 * @param {Entry[]} entries
 * @param {string} origin
 * @param {string} path
 * @param {NonNullable<ReturnType<typeof readOptions>>} options
 */
async function measure(entries, origin, path, { rounds, node, size, limit, dodici }) {
  const worker = fileURLToPath(new URL('latency-worker.mjs', import.meta.url))
  for (let round = 0; round < rounds; round++) {
    // Another one goes first in every round.
    const first = round % entries.length
    for (const entry of [...entries.slice(first), ...entries.slice(0, first)]) {
      process.stderr.write(`round ${round + 1} of ${rounds}: ${entry.label}\n`)
      const { client, options } = entry
      /** @type {import('./latency-worker.mjs').Job} */
      const job = { client, origin, path, size, limit, dodici, options }
      const child = start('client', node, [worker, JSON.stringify(job)])
      try {
        entry.rounds.push(JSON.parse(await outputOf(child, 30_000 + 2_000 * limit)))
      } catch (error) {
        throw new Error(`${entry.label}: ${error instanceof Error ? error.message : error}`)
      }
    }
  }
}

/** @param {import('./latency-worker.mjs').Measured} download */
const toRate = ({ bytes, seconds }) => bytes / seconds / 1e6

/** @param {number[]} values */
function spread(values) {
  const [middle, low, high] = [median(values), Math.min(...values), Math.max(...values)].map((value) =>
    value.toFixed(value < 10 ? 2 : 1),
  )
  return `${middle} (${low}–${high})`
}

/** @param {string[][]} rows */
function table(rows) {
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => row[column].length)))
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column]))
        .join('   ')
        .trimEnd(),
    )
    .join('\n')
}

/** @param {Entry[]} entries */
function report(entries) {
  const head = ['client', 'first download, MB/s', 'second, MB/s', 'CPU ms a MB', 'came whole']
  const rows = entries.map(({ label, rounds }) => {
    const all = rounds.flatMap(({ cold, warm }) => [cold, warm])
    return [
      label,
      spread(rounds.map(({ cold }) => toRate(cold))),
      spread(rounds.map(({ warm }) => toRate(warm))),
      spread(all.map(({ cpuSeconds, bytes }) => (cpuSeconds * 1e9) / bytes)),
      `${all.filter(({ isWhole }) => isWhole).length} of ${all.length}`,
    ]
  })
  return table([head, ...rows])
}

async function main() {
  const options = readOptions()
  if (options === null) {
    process.stdout.write(help)
    return
  }
  const { node, rtt, size, kind, rounds, limit } = options
  const { cpu, cores, node: nodeVersion, pinned, loadBefore } = describeMachine({ node, server: kind })
  const entries = toEntries(options, nodeVersion)
  if (entries.length === 0) throw new UsageError('No client is left to measure.')

  console.log(
    `${cpu}, ${cores} cores, ${platform()} ${release()} ${arch()}; ` +
      `load before ${loadBefore.toFixed(2)}; Node ${nodeVersion}, server ${kind === 'nghttpd' ? nghttpdVersion : 'node:http2'}; ` +
      (pinned === null
        ? 'not pinned'
        : `client on core ${pinned.client}, server and relay on core ${pinned.server}`),
  )
  const [near, far] = [await measureRelay(node, 0), await measureRelay(node, rtt)]
  const server = await startServer(
    { responseBytes: size, origins: 1, latency: rtt, tls: false },
    { kind, node },
  )
  const [origin = ''] = server.origins
  console.log(
    `Round trip by PING ${(await measureRtt(origin)).toFixed(1)} ms; the relay alone lets ${near.toFixed(0)} MB/s ` +
      `through at 0 ms, ${far.toFixed(0)} at ${rtt} ms`,
  )
  console.log(
    `GET of ${size / MEBIBYTE} MiB, h2c, ${rounds} rounds, median (min–max); MB/s is 10^6 bytes a second, from the call ` +
      `to the last byte; cut off after ${limit} s. The first download opens its connection.\n`,
  )
  try {
    await measure(entries, origin, `/${size}`, options)
  } finally {
    await server.stop()
  }
  console.log(report(entries))
  if (options.json !== undefined) {
    const { rtt, size } = options
    writeFileSync(options.json, `${JSON.stringify({ rtt, size, node: nodeVersion, entries }, null, 2)}\n`)
  }
}

await runMain(main)
