/**
 * Starts the server of a run in a process of its own, and the relay before it. `nghttpd` and `node` speak nothing but
 * HTTP/2, so a client that gets responses has spoken it; `http1`, nginx or a script, speaks nothing but HTTP/1.1.
 */
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { generate } from 'selfsigned'
import { freePort } from '../../scripts/free-port.mjs'
import { PROGRAM_ENV } from '../../scripts/program-env.mjs'
import { start, stop } from './children.mjs'
import { toJsonDocument } from './json-document.mjs'
import { nginxVersion, toNginx } from './nginx.mjs'
import { directory } from './temporary.mjs'

/**
 * How many streams a server takes on a connection. Most scenarios have fewer in flight: how a client waits isn't
 * measured.
 */
export const maxStreams = 256

/** Large windows are of 16 MiB, as a power of two. */
const LARGE_BITS = 24

const version = spawnSync('nghttpd', ['--version'], { encoding: 'utf8', env: PROGRAM_ENV })

/** The version line of nghttpd, or null where it isn't installed. */
export const nghttpdVersion = version.status === 0 ? version.stdout.trim() : null

/** @typedef {{ keyFile: string, certFile: string }} Certificate */

/** @type {Certificate | undefined} */
let made

/** @returns {Promise<Certificate>} */
async function certificate() {
  if (made === undefined) {
    const pem = await generate([{ name: 'commonName', value: 'localhost' }], {
      keyType: 'ec',
      algorithm: 'sha256',
      extensions: [{ name: 'subjectAltName', altNames: [{ type: 7, ip: '127.0.0.1' }] }],
    })
    made = { keyFile: join(directory, 'key.pem'), certFile: join(directory, 'cert.pem') }
    writeFileSync(made.keyFile, pem.private)
    writeFileSync(made.certFile, pem.cert)
  }
  return made
}

/**
 * @param {number} port
 * @returns {Promise<boolean>}
 */
function accepts(port) {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => resolve(true))
    socket.once('error', () => resolve(false))
    socket.once('connect', () => socket.destroy())
  })
}

/**
 * @param {number} port
 * @param {Certificate | null} tls
 * @param {boolean} largeWindows
 */
function toNghttpd(port, tls, largeWindows) {
  return {
    file: 'nghttpd',
    args: [
      '--address=127.0.0.1',
      // Responds to a POST with its own body, so the length of the response proves that the body has arrived.
      '--echo-upload',
      `--max-concurrent-streams=${maxStreams}`,
      `--htdocs=${directory}`,
      ...(largeWindows ? [`--window-bits=${LARGE_BITS}`, `--connection-window-bits=${LARGE_BITS}`] : []),
      ...(tls === null ? ['--no-tls', `${port}`] : [`${port}`, tls.keyFile, tls.certFile]),
    ],
    env: {},
  }
}

/**
 * Starts a program that doesn't tell which port it got for 0.
 *
 * @param {(port: number) => { file: string, args: string[], env: Record<string, string> }} toProgram
 * @returns {Promise<{ child: import('node:child_process').ChildProcess, ports: number[] }>}
 */
async function startProgram(toProgram) {
  // Between our probe and its bind another process may take the port: then it exits, and the next one is tried.
  for (let attempt = 0; attempt < 5; attempt++) {
    const port = await freePort()
    const { file, args, env } = toProgram(port)
    const child = start('server', file, args, env)
    child.stdout?.resume()
    child.stderr?.resume()
    // It writes no line when it is ready, so ready is when it accepts. One that can't listen ends.
    while (child.exitCode === null) {
      if ((await accepts(port)) && child.exitCode === null) return { child, ports: [port] }
    }
    await stop(child)
  }
  throw new Error('the server did not start')
}

/**
 * Starts a script of ours and waits for its ports.
 *
 * @param {string} node
 * @param {string} script
 * @param {object} options
 */
async function startScript(node, script, options) {
  const file = fileURLToPath(new URL(script, import.meta.url))
  const child = start('server', node, [file, JSON.stringify(options)])
  child.stderr?.pipe(process.stderr)
  if (child.stdout === null) throw new Error('no output to read')
  for await (const line of createInterface({ input: child.stdout })) {
    const ports = /^listening ([\d,]+)$/.exec(line)?.[1]
    if (ports !== undefined) return { child, ports: ports.split(',').map(Number) }
  }
  throw new Error(`${script} did not start`)
}

/**
 * @param {string} node
 * @param {number} port where to
 * @param {number} rtt in milliseconds
 */
export async function startRelay(node, port, rtt) {
  // Beside the server: the client has its core to itself.
  const { child, ports } = await startScript(node, 'latency-relay.mjs', { port, delay: rtt / 2 })
  return { port: ports[0] ?? 0, stop: () => stop(child) }
}

/**
 * @typedef {'nghttpd' | 'node' | 'http1'} ServerKind `http1`: nginx for a GET to one origin where it is installed, otherwise `node:http`
 *
 * @typedef {object} Server
 * @property {string[]} origins
 * @property {string} path what is asked for
 * @property {string} file what its response has in it
 * @property {string | null} caFile
 * @property {() => string | null} toEnd how its process has ended; null: it hasn't
 * @property {() => Promise<void>} stop
 */

/**
 * @typedef {Pick<import('./scenarios.mjs').Scenario, 'method' | 'responseBytes' | 'origins' | 'latency' | 'tls' | 'json' | 'largeWindows'>} Served
 */

/**
 * @param {Served} scenario
 * @param {{ kind: ServerKind, node: string }} options
 * @param {Certificate | null} tls
 */
function startKind({ method, origins, largeWindows = false }, { kind, node }, tls) {
  if (kind === 'nghttpd') return startProgram((port) => toNghttpd(port, tls, largeWindows))
  const isHttp1 = kind === 'http1'
  // It can't respond with the body of a request.
  if (isHttp1 && nginxVersion !== null && method === 'GET' && origins === 1)
    return startProgram((port) => toNginx({ directory, port, tls }))
  return startScript(node, 'server.mjs', {
    http1: isHttp1,
    ports: origins,
    maxStreams,
    window: largeWindows ? 2 ** LARGE_BITS - 1 : null,
    keyFile: tls?.keyFile ?? null,
    certFile: tls?.certFile ?? null,
  })
}

/**
 * @param {Served} scenario
 * @param {{ kind: ServerKind, node: string }} options
 * @returns {Promise<Server>}
 */
export async function startServer(scenario, { kind, node }) {
  const { responseBytes, latency, tls, json = false } = scenario
  // nghttpd tells the type by the ending.
  const path = `/${responseBytes}${json ? '.json' : ''}`
  const file = join(directory, path)
  writeFileSync(file, json ? JSON.stringify(toJsonDocument(responseBytes)) : 'a'.repeat(responseBytes))
  const certified = tls ? await certificate() : null
  const { child, ports } = await startKind(scenario, { kind, node }, certified)
  const relays = latency === 0 ? [] : await Promise.all(ports.map((port) => startRelay(node, port, latency)))
  const reached = latency === 0 ? ports : relays.map(({ port }) => port)
  return {
    origins: reached.map((port) => `${tls ? 'https' : 'http'}://127.0.0.1:${port}`),
    path,
    file,
    caFile: certified?.certFile ?? null,
    toEnd() {
      const { exitCode, signalCode } = child
      return signalCode ?? (exitCode === null ? null : `exit code ${exitCode}`)
    },
    async stop() {
      await Promise.all([...relays.map((relay) => relay.stop()), stop(child)])
    },
  }
}
