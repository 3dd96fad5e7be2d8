/**
 * Opens event streams with `request()`, and writes as JSON how the memory of the process grew, and the CPU time of the events that came.
 * Started with `--expose-gc`.
 */
import { once } from 'node:events'
import { connect } from 'node:net'
import { clientNamed, peerClient, referenceClient } from '../e2e/clients/index.mjs'
import { collect, look } from './memory.mjs'

/**
 * @typedef {object} StreamsJob
 * @property {string} client
 * @property {string} origin
 * @property {number} control the server's second port
 * @property {number} connections
 * @property {number} maxStreams of a connection
 * @property {number} streams
 * @property {number} warm so many of them are not counted: the code gets compiled by them
 * @property {number} events that each connection gets
 * @property {number} commentBytes what a stream begins with
 * @property {number} eventBytes
 *
 * @typedef {object} Streams
 * @property {import('./memory.mjs').Memory} before with `warm` streams
 * @property {import('./memory.mjs').Memory} after with all of them
 * @property {number} cpuMicros user and system, of all threads, for all events
 */

/** @type {StreamsJob} */
const job = JSON.parse(process.argv[2])
const { client, origin, connections, maxStreams, streams, warm, events, commentBytes, eventBytes } = job
const headers = { accept: 'text/event-stream' }

let received = 0
let wanted = Number.POSITIVE_INFINITY
let reached = () => {}

/** @param {Buffer} chunk */
function onData(chunk) {
  received += chunk.length
  if (received >= wanted) reached()
}

/** @param {Error} error */
function onError(error) {
  console.error(error)
  process.exit(1)
}

/** @param {import('node:stream').Readable} body */
const read = (body) => body.on('data', onData).on('error', onError)

/** What opens a stream. @returns {Promise<() => unknown>} */
async function toOpen() {
  if (client === referenceClient) {
    const http2 = await import('node:http2')
    const sessions = Array.from({ length: connections }, () => http2.connect(origin))
    let turn = 0
    return () => read(sessions[turn++ % connections].request({ ':path': '/', ...headers }))
  }
  const isPeer = client === peerClient
  /** @type {typeof import('undici-8')} */
  const { Pool } = await import(isPeer ? 'undici-8' : new URL('../../dist/index.js', import.meta.url).href)
  const h2 = { allowH2: true, useH2c: true, pipelining: maxStreams, maxConcurrentStreams: maxStreams }
  const own = isPeer ? h2 : { engine: clientNamed(client).engine }
  const pool = new Pool(origin, { connections, bodyTimeout: 0, ...own })
  return () => pool.request({ path: '/', method: 'GET', headers }).then(({ body }) => read(body), onError)
}

/** @param {number} bytes */
const receive = (bytes) =>
  new Promise((resolve) => {
    wanted = received + bytes
    reached = () => resolve(undefined)
  })

const open = await toOpen()

/** @param {number} count */
async function openMore(count) {
  const all = receive(count * commentBytes)
  for (let index = 0; index < count; index++) open()
  await all
  await collect()
  return look()
}

const before = await openMore(warm)
const after = await openMore(streams - warm)
const control = connect(job.control, '127.0.0.1')
const cpu = process.cpuUsage()
const all = receive(events * connections * eventBytes)
control.write(`${events}`)
const [count] = await once(control, 'data')
if (Number(count) !== connections) onError(new Error(`${count} connections in place of ${connections}`))
await all
const { user, system } = process.cpuUsage(cpu)
/** @type {Streams} */
const result = { before, after, cpuMicros: user + system }
process.stdout.write(JSON.stringify(result), () => process.exit())
