/**
 * Starts the server of a run in a process of its own, and the relay before it. `nghttpd` and `node` speak nothing but
 * HTTP/2, so a client that gets responses has spoken it; `http1` speaks nothing but HTTP/1.1.
 */
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { generate } from 'selfsigned'
import { freePort } from '../../scripts/free-port.mjs'
import { start, stop } from './children.mjs'
import { toJsonDocument } from './json-document.mjs'
import { directory } from './temporary.mjs'

/**
 * How many streams a server takes on a connection. Most scenarios have fewer in flight: how a client waits isn't
 * measured.
 */
export const maxStreams = 256

const version = spawnSync('nghttpd', ['--version'], { encoding: 'utf8' })

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
 * @param {Certificate | null} tls
 * @returns {Promise<{ child: import('node:child_process').ChildProcess, ports: number[] }>}
 */
async function startNghttpd(tls) {
  // nghttpd doesn't tell which port it got for 0. Between our probe and its bind another process may take the
  // port: then it exits, and the next one is tried.
  for (let attempt = 0; attempt < 5; attempt++) {
    const port = await freePort()
    const child = start('server', 'nghttpd', [
      '--address=127.0.0.1',
      // Responds to a POST with its own body, so the length of the response proves that the body has arrived.
      '--echo-upload',
      `--max-concurrent-streams=${maxStreams}`,
      `--htdocs=${directory}`,
      ...(tls === null ? ['--no-tls', `${port}`] : [`${port}`, tls.keyFile, tls.certFile]),
    ])
    child.stdout?.resume()
    child.stderr?.resume()
    // It writes no line when it is ready, so ready is when it accepts. One that can't listen ends.
    while (child.exitCode === null) {
      if ((await accepts(port)) && child.exitCode === null) return { child, ports: [port] }
    }
    await stop(child)
  }
  throw new Error('nghttpd did not start')
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
 * @typedef {'nghttpd' | 'node' | 'http1'} ServerKind
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
 * @param {Pick<import('./scenarios.mjs').Scenario, 'responseBytes' | 'origins' | 'latency' | 'tls' | 'json'>} scenario
 * @param {{ kind: ServerKind, node: string }} options
 * @returns {Promise<Server>}
 */
export async function startServer({ responseBytes, origins, latency, tls, json = false }, { kind, node }) {
  // nghttpd tells the type by the ending.
  const path = `/${responseBytes}${json ? '.json' : ''}`
  const file = join(directory, path)
  writeFileSync(file, json ? JSON.stringify(toJsonDocument(responseBytes)) : 'a'.repeat(responseBytes))
  const certified = tls ? await certificate() : null
  const { child, ports } =
    kind === 'nghttpd'
      ? await startNghttpd(certified)
      : await startScript(node, 'server.mjs', {
          http1: kind === 'http1',
          ports: origins,
          maxStreams,
          keyFile: certified?.keyFile ?? null,
          certFile: certified?.certFile ?? null,
        })
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
