/**
 * Starts the server of a run in a process of its own, and the relay before it. `nghttpd` and `node` speak nothing but HTTP/2, so a
 * client that gets responses has spoken it; `http1`, nginx or a script, speaks nothing but HTTP/1.1. And on what, and of what, figures
 * were measured.
 */
import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { arch, availableParallelism, cpus, platform, totalmem } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { makeCertificate } from '../../scripts/certificate.mjs'
import { UsageError } from '../../scripts/options.mjs'
import { linesOf, startOnPort, stop } from '../../scripts/processes.mjs'
import { PROGRAM_ENV } from '../../scripts/program-env.mjs'
import { cores, directory, start } from './children.mjs'

/**
 * @typedef {{ keyFile: string, certFile: string }} Certificate
 * @typedef {'nghttpd' | 'node' | 'http1'} ServerKind `http1`: nginx for a GET to one origin where it is installed, otherwise `node:http`
 *
 * @typedef {object} Server
 * @property {string[]} origins
 * @property {string} path what is asked for
 * @property {string} file what its response has in it
 * @property {string | null} caFile
 * @property {() => string | null} toEnd how its process has ended; null: it hasn't
 * @property {() => Promise<void>} stop
 *
 * @typedef {Pick<import('./scenarios.mjs').Scenario, 'method' | 'responseBytes' | 'origins' | 'latency' | 'tls' | 'largeWindows'>} Served
 */

/** How many streams a server takes on a connection. Most scenarios have fewer in flight: how a client waits isn't measured. */
export const maxStreams = 256

/** Large windows are of 16 MiB, as a power of two. */
const LARGE_BITS = 24

const nghttpd = spawnSync('nghttpd', ['--version'], { encoding: 'utf8', env: PROGRAM_ENV })
const nginx = spawnSync('nginx', ['-v'], { encoding: 'utf8', env: PROGRAM_ENV })

/** The version line of nghttpd, or null where it isn't installed. */
export const nghttpdVersion = nghttpd.status === 0 ? nghttpd.stdout.trim() : null
/** Such as `nginx/1.22.1`, or null where it isn't installed. */
const nginxVersion = nginx.status === 0 ? (/nginx\/[\d.]+/.exec(nginx.stderr)?.[0] ?? 'nginx') : null

/** @type {'nghttpd' | 'node'} */
export const defaultServer = nghttpdVersion === null ? 'node' : 'nghttpd'

/** What `--server` says. @param {import('../../scripts/options.mjs').Options} options */
export function toServer(options) {
  /** @type {Record<string, 'nghttpd' | 'node'>} */
  const kinds = { nghttpd: 'nghttpd', node: 'node' }
  const server = options.choice('server', kinds, defaultServer)
  if (server === 'nghttpd' && nghttpdVersion === null) throw new UsageError('nghttpd is not installed')
  return server
}

/** @type {Certificate | undefined} */
let made

async function certificate() {
  if (made === undefined) {
    const { key, cert } = await makeCertificate()
    made = { keyFile: join(directory, 'key.pem'), certFile: join(directory, 'cert.pem') }
    writeFileSync(made.keyFile, key)
    writeFileSync(made.certFile, cert)
  }
  return made
}

/** @param {number} port @param {Certificate | null} tls @param {boolean} largeWindows */
const toNghttpd = (port, tls, largeWindows) => [
  '--address=127.0.0.1',
  // Responds to a POST with its own body, so the length of the response proves that the body has arrived.
  '--echo-upload',
  `--max-concurrent-streams=${maxStreams}`,
  `--htdocs=${directory}`,
  ...(largeWindows ? [`--window-bits=${LARGE_BITS}`, `--connection-window-bits=${LARGE_BITS}`] : []),
  ...(tls === null ? ['--no-tls', `${port}`] : [`${port}`, tls.keyFile, tls.certFile]),
]

/** Writes the configuration of one process that serves the files of the folder. @param {number} port @param {Certificate | null} tls */
function toNginx(port, tls) {
  const prefix = join(directory, `nginx-${port}`)
  mkdirSync(prefix)
  const certificate =
    tls === null ? '' : `ssl_certificate ${tls.certFile}; ssl_certificate_key ${tls.keyFile};`
  const places = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${prefix}/${name};`,
  )
  const config = join(prefix, 'nginx.conf')
  writeFileSync(
    config,
    `daemon off;
master_process off;
pid ${prefix}/pid;
error_log ${prefix}/error.log crit;
events { worker_connections 4096; }
http {
  access_log off;
  ${places.join('\n  ')}
  default_type application/octet-stream;
  open_file_cache max=100;
  # A connection lives as long as the run.
  keepalive_requests 1000000000;
  keepalive_timeout 1h;
  server {
    listen 127.0.0.1:${port}${tls === null ? '' : ' ssl'};
    ${certificate}
    root ${directory};
    # The fields that nghttpd sends.
    add_header cache-control max-age=3600;
  }
}
`,
  )
  return ['-p', prefix, '-c', config, '-e', join(prefix, 'error.log')]
}

/** A program that doesn't tell which port it got for 0. @param {string} file @param {(port: number) => string[]} toArgs @param {string} [on] cores */
export async function startProgram(file, toArgs, on) {
  const { child, port } = await startOnPort((port) => {
    const child = start('server', file, toArgs(port), {}, on)
    child.stdout?.resume()
    child.stderr?.resume()
    return child
  })
  return { child, ports: [port] }
}

/** Starts a script of this folder, and waits for its ports. @param {string} node @param {string} script @param {object} options */
async function startScript(node, script, options) {
  const file = fileURLToPath(new URL(script, import.meta.url))
  const child = start('server', node, [file, JSON.stringify(options)])
  child.stderr?.pipe(process.stderr)
  const { value } = await linesOf(child).next()
  const ports = /^listening ([\d,]+)$/.exec(value ?? '')?.[1]
  if (ports === undefined) throw new Error(`${script} did not start`)
  return { child, ports: ports.split(',').map(Number) }
}

/** @param {string} node @param {number} port where to @param {number} rtt in milliseconds */
export async function startRelay(node, port, rtt) {
  // Beside the server: the client has its core to itself.
  const { child, ports } = await startScript(node, 'latency-relay.mjs', { port, delay: rtt / 2 })
  return { port: ports[0], stop: () => stop(child) }
}

/** @param {Served} scenario @param {{ kind: ServerKind, node: string }} options @param {Certificate | null} tls */
function startKind({ method, origins, largeWindows = false }, { kind, node }, tls) {
  if (kind === 'nghttpd') return startProgram('nghttpd', (port) => toNghttpd(port, tls, largeWindows))
  const isHttp1 = kind === 'http1'
  // It can't respond with the body of a request.
  if (isHttp1 && nginxVersion !== null && method === 'GET' && origins === 1)
    return startProgram('nginx', (port) => toNginx(port, tls))
  return startScript(node, 'server.mjs', {
    http1: isHttp1,
    ports: origins,
    maxStreams,
    window: largeWindows ? 2 ** LARGE_BITS - 1 : null,
    keyFile: tls?.keyFile ?? null,
    certFile: tls?.certFile ?? null,
  })
}

/** @param {Served} scenario @param {{ kind: ServerKind, node: string }} options @returns {Promise<Server>} */
export async function startServer(scenario, { kind, node }) {
  const { responseBytes, latency, tls } = scenario
  const path = `/${responseBytes}`
  const file = join(directory, path)
  writeFileSync(file, 'a'.repeat(responseBytes))
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

/** @param {string} node a binary @returns {string} such as 24.21.0 */
export function nodeVersionOf(node) {
  const { status, stdout } = spawnSync(node, ['-p', 'process.versions.node'], { encoding: 'utf8' })
  if (status !== 0) throw new UsageError(`${node} doesn't run as Node`)
  return stdout.trim()
}

/** How many cores are busy, over a second. The load average would count the run before this one. */
function toLoad() {
  const toTimes = () =>
    cpus().map(({ times }) => ({
      idle: times.idle,
      all: Object.values(times).reduce((sum, time) => sum + time, 0),
    }))
  const before = toTimes()
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_000)
  return toTimes().reduce((busy, { idle, all }, core) => {
    const passed = all - before[core].all
    return busy + (passed === 0 ? 0 : 1 - (idle - before[core].idle) / passed)
  }, 0)
}

/** @param {{ node: string, server: 'nghttpd' | 'node' }} setting */
export function describeMachine({ node, server }) {
  const nodeVersion = nodeVersionOf(node)
  return {
    cpu: cpus()[0]?.model ?? 'unknown',
    cores: availableParallelism(),
    memory: totalmem(),
    platform: `${platform()} ${arch()}`,
    node: nodeVersion,
    server: server === 'nghttpd' ? (nghttpdVersion ?? 'nghttpd') : `node:http2 of Node ${nodeVersion}`,
    http1Server: nginxVersion ?? `node:http of Node ${nodeVersion}`,
    pinned: cores,
    loadBefore: toLoad(),
  }
}

/** The repository. */
export const root = fileURLToPath(new URL('../..', import.meta.url))

/** @param {string[]} args @returns {string | null} null: it failed */
export function git(...args) {
  const { status, stdout } = spawnSync('git', args, { cwd: root, encoding: 'utf8' })
  return status === 0 ? stdout.trim() : null
}

/** @returns {{ hash: string, isDirty: boolean } | null} null outside of git */
export function readRevision() {
  const hash = git('rev-parse', 'HEAD')
  const changes = git('status', '--porcelain')
  return hash === null || changes === null ? null : { hash, isDirty: changes !== '' }
}
