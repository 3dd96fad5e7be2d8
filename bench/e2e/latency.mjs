/**
 * How fast one large response comes over a long link: `node bench/e2e/latency.mjs --help`. With a job as its only argument it is the
 * process of one client, which downloads twice, the first time on a connection that isn't there yet, and writes one line of JSON.
 */
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { connect as connectHttp2 } from 'node:http2'
import { connect, createServer } from 'node:net'
import { arch, platform, release } from 'node:os'
import { fileURLToPath } from 'node:url'
import { readOptions, runMain, UsageError } from '../../scripts/options.mjs'
import { outputOf, portOf } from '../../scripts/processes.mjs'
import { start } from './children.mjs'
import { isOlder } from './plans.mjs'
import { table } from './print.mjs'
import { describeMachine, nghttpdVersion, startRelay, startServer, toServer } from './servers.mjs'
import { median } from './statistics.mjs'

/**
 * @typedef {object} Download
 * @property {number} bytes
 * @property {boolean} isWhole false: time was up before its end
 * @property {number} seconds from the call to the last byte
 * @property {number} headerSeconds from the call to the response's header
 * @property {number} cpuSeconds
 *
 * @typedef {object} Job
 * @property {string} client
 * @property {string} origin
 * @property {string} path
 * @property {number} size bytes of the response
 * @property {number} limit seconds after which a download is cut off
 * @property {string | null} dodici which build to load instead of this package's
 * @property {object} options the client's own; none: its defaults
 *
 * @typedef {{ cold: Download, warm: Download }} Round
 * @typedef {{ label: string, client: string, options: object, rounds: Round[] }} Entry one row
 * @typedef {{ statusCode: number, body: import('node:stream').Readable }} Response
 */

const MEBIBYTE = 2 ** 20
/** The build: bench/ is a package of its own, which has no `dodici`. */
const BUILD = new URL('../../dist/index.js', import.meta.url).href

/**
 * The clients, each as its users get it: with no option but the one that makes it speak h2c. Each opens, and gives a function that asks.
 *
 * @type {Readonly<Record<string, { label: string, minNode: [number, number], open(job: Job): Promise<() => Promise<Response>> }>>}
 */
const clients = {
  dodici: {
    label: 'dodici Client',
    minNode: [20, 18],
    async open({ origin, path, dodici, options }) {
      const { Client } = await import(dodici ?? BUILD)
      const client = new Client(origin, options)
      return () => client.request({ path, method: 'GET' })
    },
  },
  undici: {
    label: 'undici 8 Agent, allowH2',
    minNode: [22, 19],
    async open({ origin, path }) {
      const { Agent } = await import('undici-8')
      // At the top level: the Pool of an Agent doesn't look for it in `h2Options`.
      const options = { allowH2: true, useH2c: true }
      const agent = new Agent(options)
      return () => agent.request({ origin, path, method: 'GET' })
    },
  },
  'node-http2': {
    label: 'node:http2',
    minNode: [20, 18],
    async open({ origin, path }) {
      const session = connectHttp2(origin)
      return async () => {
        const stream = session.request({ ':path': path })
        const [headers] = await once(stream, 'response')
        return { statusCode: headers[':status'], body: stream }
      }
    },
  },
}

const help = `Usage: node bench/e2e/latency.mjs [options]

  --rtt MS        the round trip (default: 50)
  --size MIB      of the response, in MiB (default: 64)
  --rounds N      how often every client is measured (default: 5)
  --limit S       seconds after which a download is cut off: its rate is that of what came (default: 5)
  --window A,B    a further row of dodici for each, with initialWindowSize and connectionWindowSize of so many MiB
  --clients A,B   ${Object.keys(clients).join(', ')} (default: all)
  --server KIND   nghttpd or node (default: nghttpd where it is installed)
  --node FILE     the Node binary that runs clients and relay (default: this one)
  --dodici FILE   the build of dodici to measure (default: dist/ of this package)
  --json FILE     write all rounds there
`

/**
 * Counts what comes, at the speed at which it comes, until it ends or time is up.
 *
 * @param {import('node:stream').Readable} body @param {number} begun @param {number} limit
 * @returns {Promise<Pick<Download, 'bytes' | 'isWhole' | 'seconds'>>}
 */
function count(body, begun, limit) {
  return new Promise((resolve, reject) => {
    let bytes = 0
    let last = begun
    const finish = (/** @type {boolean} */ isWhole) => {
      clearTimeout(timer)
      resolve({ bytes, isWhole, seconds: (last - begun) / 1_000 })
    }
    const cutOff = () => {
      finish(false)
      body.destroy()
    }
    const timer = setTimeout(cutOff, begun + limit * 1_000 - performance.now())
    body.on('data', (chunk) => {
      bytes += chunk.length
      last = performance.now()
    })
    body.on('end', () => finish(true))
    body.on('error', reject)
    body.on('close', () => reject(new Error('the body was closed before its end')))
  })
}

/** The process of one client. @param {Job} job */
async function download(job) {
  const { client, size, limit } = job
  const ask = await clients[client].open(job)
  /** @returns {Promise<Download>} */
  async function measure() {
    const before = process.cpuUsage()
    const begun = performance.now()
    const { statusCode, body } = await ask()
    const headerSeconds = (performance.now() - begun) / 1_000
    if (statusCode !== 200) throw new Error(`status ${statusCode}`)
    const counted = await count(body, begun, limit)
    const { user, system } = process.cpuUsage(before)
    if (counted.isWhole && counted.bytes !== size)
      throw new Error(`${counted.bytes} bytes instead of ${size}`)
    return { ...counted, headerSeconds, cpuSeconds: (user + system) / 1e6 }
  }
  const cold = await measure()
  const warm = await measure()
  process.stdout.write(`${JSON.stringify({ cold, warm })}\n`)
  // One that was cut off may have left more on its way than is worth waiting for.
  process.exit()
}

function toSetting() {
  const options = readOptions(help)
  const number = (/** @type {string} */ name, /** @type {string | number} */ text) => {
    if (Number(text) > 0) return Number(text)
    throw new UsageError(`--${name} must be a number above 0`)
  }
  const positive = (/** @type {string} */ name, /** @type {number} */ fallback) =>
    number(name, options.text(name) ?? fallback)
  const all = Object.keys(clients)
  return {
    rtt: options.text('rtt') === '0' ? 0 : positive('rtt', 50),
    size: Math.round(positive('size', 64) * MEBIBYTE),
    rounds: options.count('rounds', 5),
    limit: positive('limit', 5),
    windows: (options.text('window')?.split(',') ?? []).map((mib) => number('window', mib)),
    clients: options.names('clients', all) ?? all,
    server: toServer(options),
    node: options.text('node') ?? process.execPath,
    dodici: options.text('dodici') ?? null,
    json: options.text('json'),
  }
}

/** @param {ReturnType<typeof toSetting>} setting @param {string} nodeVersion @returns {Entry[]} */
function toEntries({ clients: names, windows }, nodeVersion) {
  const usable = names.filter((client) => {
    const { label, minNode } = clients[client]
    const isUsable = !isOlder(nodeVersion, minNode)
    if (!isUsable)
      console.log(`${label} needs Node ${minNode.join('.')}, and this is ${nodeVersion}: left out`)
    return isUsable
  })
  return [
    ...usable.map((client) => ({
      label: `${clients[client].label}, defaults`,
      client,
      options: {},
      rounds: [],
    })),
    ...windows.map((mib) => {
      const bytes = Math.round(mib * MEBIBYTE)
      const options = { initialWindowSize: bytes, connectionWindowSize: bytes }
      return { label: `dodici Client, windows of ${mib} MiB`, client: 'dodici', options, rounds: [] }
    }),
  ]
}

/** What the relay itself lets through, without HTTP/2: from the first byte to the last one. @param {string} node @param {number} rtt @returns {Promise<number>} MB/s */
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
  const relay = await startRelay(node, portOf(source), rtt)
  const callback = (/** @type {number} */ length) => {
    if (bytes === 0) begun = performance.now()
    bytes += length
    send()
    return true
  }
  // Into one buffer again and again: otherwise what is measured is this process's collection of garbage.
  const onread = { buffer: Buffer.alloc(MEBIBYTE), callback }
  await once(connect({ port: relay.port, host: '127.0.0.1', onread }), 'end')
  const seconds = (performance.now() - begun) / 1_000
  source.close()
  await relay.stop()
  if (bytes !== total) throw new Error(`the relay let ${bytes} bytes through, of ${total}`)
  return bytes / seconds / 1e6
}

/** The round trip as HTTP/2 sees it. @param {string} origin @returns {Promise<number>} in milliseconds */
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

/** @param {number[]} values */
function spread(values) {
  const [middle, low, high] = [median(values), Math.min(...values), Math.max(...values)].map((value) =>
    value.toFixed(value < 10 ? 2 : 1),
  )
  return `${middle} (${low}–${high})`
}

/** @param {Entry[]} entries */
function report(entries) {
  const toRate = (/** @type {Download} */ { bytes, seconds }) => bytes / seconds / 1e6
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
  const setting = toSetting()
  const { node, rtt, size, server: kind, rounds, limit, dodici, json } = setting
  const { cpu, cores, node: nodeVersion, pinned, loadBefore } = describeMachine(setting)
  const entries = toEntries(setting, nodeVersion)
  if (entries.length === 0) throw new UsageError('No client is left to measure.')
  const where =
    pinned === null
      ? 'not pinned'
      : `client on core ${pinned.client}, server and relay on core ${pinned.server}`
  console.log(
    `${cpu}, ${cores} cores, ${platform()} ${release()} ${arch()}; load before ${loadBefore.toFixed(2)}; ` +
      `Node ${nodeVersion}, server ${kind === 'nghttpd' ? nghttpdVersion : 'node:http2'}; ${where}`,
  )
  const [near, far] = [await measureRelay(node, 0), await measureRelay(node, rtt)]
  const served = { method: 'GET', responseBytes: size, origins: 1, latency: rtt, tls: false }
  const server = await startServer(served, { kind, node })
  const [origin] = server.origins
  console.log(
    `Round trip by PING ${(await measureRtt(origin)).toFixed(1)} ms; the relay alone lets ${near.toFixed(0)} MB/s ` +
      `through at 0 ms, ${far.toFixed(0)} at ${rtt} ms`,
  )
  console.log(
    `GET of ${size / MEBIBYTE} MiB, h2c, ${rounds} rounds, median (min–max); MB/s is 10^6 bytes a second, from the call ` +
      `to the last byte; cut off after ${limit} s. The first download opens its connection.\n`,
  )
  try {
    for (let round = 0; round < rounds; round++) {
      // Another one goes first in every round.
      const first = round % entries.length
      for (const { label, client, options, rounds: own } of [
        ...entries.slice(first),
        ...entries.slice(0, first),
      ]) {
        process.stderr.write(`round ${round + 1} of ${rounds}: ${label}\n`)
        /** @type {Job} */
        const job = { client, origin, path: `/${size}`, size, limit, dodici, options }
        const child = start('client', node, [fileURLToPath(import.meta.url), JSON.stringify(job)])
        own.push(JSON.parse(await outputOf(child, 30_000 + 2_000 * limit)))
      }
    }
  } finally {
    await server.stop()
  }
  console.log(report(entries))
  if (json !== undefined)
    writeFileSync(json, `${JSON.stringify({ rtt, size, node: nodeVersion, entries }, null, 2)}\n`)
}

const [, , job = ''] = process.argv
await runMain(job.startsWith('{') ? () => download(JSON.parse(job)) : main)
