/**
 * Starts the server of a run in a process of its own. Both kinds speak nothing but HTTP/2, so a client that
 * gets answers has spoken it.
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { generate } from 'selfsigned'
import { freePort } from '../../scripts/free-port.mjs'
import { start, stop } from './children.mjs'

/** A limit on concurrent streams that no scenario reaches: how a client waits for a slot isn't measured. */
export const maxStreams = 256

const directory = mkdtempSync(join(tmpdir(), 'dodici-bench-'))
process.on('exit', () => rmSync(directory, { recursive: true, force: true }))

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
 * @returns {Promise<{ child: import('node:child_process').ChildProcess, port: number }>}
 */
async function startNghttpd(tls) {
  // nghttpd doesn't tell which port it got for 0. Between our probe and its bind somebody else may take the
  // port: then it exits, and the next one is tried.
  for (let attempt = 0; attempt < 5; attempt++) {
    const port = await freePort()
    const child = start('server', 'nghttpd', [
      '--address=127.0.0.1',
      // Answers a POST with its own body, so the length of the answer proves that the body has arrived.
      '--echo-upload',
      `--max-concurrent-streams=${maxStreams}`,
      `--htdocs=${directory}`,
      ...(tls === null ? ['--no-tls', `${port}`] : [`${port}`, tls.keyFile, tls.certFile]),
    ])
    child.stdout?.resume()
    child.stderr?.resume()
    // It writes no line when it is ready, so ready is when it accepts; the deadline only ends a hopeless
    // wait.
    const deadline = Date.now() + 5000
    while (child.exitCode === null && Date.now() < deadline) {
      if ((await accepts(port)) && child.exitCode === null) return { child, port }
    }
    await stop(child)
  }
  throw new Error('nghttpd did not start')
}

/**
 * @param {Certificate | null} tls
 * @param {string} node
 */
async function startNode(tls, node) {
  const script = fileURLToPath(new URL('server.mjs', import.meta.url))
  const options = { maxStreams, keyFile: tls?.keyFile ?? null, certFile: tls?.certFile ?? null }
  const child = start('server', node, [script, JSON.stringify(options)])
  child.stderr?.pipe(process.stderr)
  if (child.stdout === null) throw new Error('no output to read')
  for await (const line of createInterface({ input: child.stdout })) {
    const port = /^listening (\d+)$/.exec(line)?.[1]
    if (port !== undefined) return { child, port: Number(port) }
  }
  throw new Error('the server did not start')
}

/**
 * @param {import('./scenarios.mjs').Scenario} scenario
 * @param {{ kind: 'nghttpd' | 'node', node: string }} options
 * @returns {Promise<{ origin: string, path: string, caFile: string | null, stop(): Promise<void> }>}
 */
export async function startServer(scenario, { kind, node }) {
  const path = `/${scenario.answerBytes}`
  writeFileSync(join(directory, path), 'a'.repeat(scenario.answerBytes))
  const tls = scenario.tls ? await certificate() : null
  const { child, port } = kind === 'nghttpd' ? await startNghttpd(tls) : await startNode(tls, node)
  return {
    origin: `${scenario.tls ? 'https' : 'http'}://127.0.0.1:${port}`,
    path,
    caFile: tls?.certFile ?? null,
    stop: () => stop(child),
  }
}
