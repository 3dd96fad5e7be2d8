/**
 * Real servers, each in a process of its own that doesn't outlive this one: over HTTP/2 by prior knowledge. The proxies among them have an
 * origin over HTTP/1.1 behind. None retries a request: what the origin gets twice, the client has sent twice.
 */
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { get } from 'node:http'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { has, makeFolder, say, startServer, toVersion } from '../processes.mjs'
import { PROGRAM_ENV } from '../program-env.mjs'
import { CONNECT, UPGRADE, WEB_SOCKETS } from './calls.mjs'

/**
 * @typedef {{ origin: string, port: number, version: string, stop(): Promise<void> }} Started
 * @typedef {(origin: number) => Promise<Started>} Recipe `origin`: the port of what a proxy has behind it
 */

const scripts = join(import.meta.dirname, '..')
const interop = join(scripts, '../test/interop')
const ECHO = join(import.meta.dirname, 'echo.mjs')

export const hasNghttpd = has('nghttpd', '--version')
export const hasGo = has('go', 'version')

/** A server with a folder, which goes with it. @param {(folder: string) => ReturnType<typeof startServer>} start */
async function startWithFolder(start) {
  const { folder, remove } = makeFolder('soak')
  const { stop, ...started } = await start(folder)
  return {
    ...started,
    async stop() {
      await stop()
      remove()
    },
  }
}

/** @param {string} command @param {(port: number, folder: string) => string[]} toArgs @param {NodeJS.ProcessEnv} env */
const startIn = (command, toArgs, env = PROGRAM_ENV) =>
  startWithFolder((folder) => {
    const own = { ...env, HOME: folder, XDG_CONFIG_HOME: folder, XDG_DATA_HOME: folder }
    return startServer(command, (port) => toArgs(port, folder), own)
  })

/** A program of Go's, which is built first. @param {string} cwd @param {string} source @param {(port: number) => string[]} toArgs */
const startGo = (cwd, source, toArgs) =>
  startWithFolder(async (folder) => {
    const binary = join(folder, 'server')
    const args = ['build', '-ldflags=-s -w', '-o', binary, source]
    const { status, stderr } = spawnSync('go', args, { cwd, env: PROGRAM_ENV, encoding: 'utf8' })
    if (status !== 0) throw new Error(`go cannot build ${source}: ${stderr}`)
    return await startServer(binary, toArgs)
  })

/** A correct server: failures with it are the client's own. @param {number} size of the body of each response to a GET, which says it */
export const startNghttpd = (size = 20) =>
  startIn('nghttpd', (port, folder) => {
    writeFileSync(join(folder, 'soak'), `${size}:`.padEnd(size, 'n'))
    return ['--no-tls', '--address=127.0.0.1', '--echo-upload', `--htdocs=${folder}`, `${port}`]
  })

/** It is correct, and by default retires each connection after a while. */
export const startGrpc = (args = ['--max-connection-age=300ms']) =>
  startGo(join(interop, 'grpc-go'), '.', (port) => [...args, `--port=${port}`])

/**
 * A program in front of the origin, with one of the configurations beside this file. Envoy has a connection for each request to the origin,
 * as the others do: none is used again just as it ends.
 *
 * @param {() => { command: string, version: string }} find @param {string} name of the configuration
 * @param {(file: string) => string[]} toArgs
 * @returns {Recipe}
 */
const proxy = (find, name, toArgs) => async (origin) => {
  const { command, version } = find()
  const template = readFileSync(join(import.meta.dirname, 'configurations', name), 'utf8')
  const user = process.getuid?.() === 0 ? 'user: root' : ''
  const started = await startIn(command, (port, folder) => {
    const file = join(folder, name.replace('.template', ''))
    /** @type {Record<string, unknown>} */
    const values = { port, origin, folder, user }
    writeFileSync(
      file,
      template.replaceAll(/\$\{(\w+)\}/g, (_, key) => String(values[key])),
    )
    return toArgs(file)
  })
  return { ...started, version }
}

/** @param {string} command @param {string} option */
const installed = (command, option) => () => ({ command, version: toVersion(say(command, option)) })

function findEnvoy() {
  const command = say(join(scripts, 'install-envoy.sh'), '--installed')
  return { command, version: /\/(\d+\.\d+\.\d+)\//.exec(say(command, '--version'))?.[1] ?? 'unknown' }
}

/** @param {string} major @returns {Recipe} */
const node = (major) => async () => {
  const command = say(join(scripts, 'install-node.sh'), major)
  const started = await startServer(command, (port) => [ECHO, 'h2c', `${port}`])
  return { ...started, version: say(command, '-v').slice(1) }
}

/**
 * @typedef {object} Kind
 * @property {'itself' | 'its origin' | 'nothing'} counts what counts the POSTs that have come twice
 * @property {Recipe} recipe of one process, as it is killed
 * @property {Readonly<Record<string, number>>} [weights] of the kinds of calls that it understands, beside requests and fetch
 * @property {boolean} [speaksGrpc]
 */

/** @param {Recipe} recipe @param {Kind['weights']} [weights] @returns {Kind} */
const behind = (recipe, weights) => ({ counts: 'its origin', recipe, weights })

/** By their names. @type {Readonly<Record<string, Kind>>} */
export const KINDS = {
  nginx: behind(proxy(installed('nginx', '-v'), 'nginx.conf', (file) => ['-c', file])),
  Apache: behind(proxy(installed('apache2', '-v'), 'apache.conf', (file) => ['-f', file, '-X'])),
  Envoy: behind(
    proxy(findEnvoy, 'envoy.json.template', (file) => [
      ...['-c', file, '--disable-hot-restart', '--concurrency', '1', '--log-level', 'off'],
    ]),
    WEB_SOCKETS,
  ),
  HAProxy: behind(
    proxy(installed('haproxy', '-v'), 'haproxy.cfg', (file) => ['-f', file, '-db']),
    WEB_SOCKETS,
  ),
  h2o: behind(proxy(installed('h2o', '--version'), 'h2o.yaml', (file) => ['-m', 'worker', '-c', file])),
  Caddy: behind(
    proxy(installed('caddy', 'version'), 'Caddyfile', (file) => [
      ...['run', '--config', file, '--adapter', 'caddyfile'],
    ]),
  ),
  // Without WebSockets: 0.18 doesn't end the stream of one that the client closes, and drops the connection after one that it
  // closes itself.
  Hypercorn: {
    counts: 'itself',
    async recipe() {
      const library = say(join(scripts, 'install-hypercorn.sh'), '--installed')
      const path = `${library}:${import.meta.dirname}`
      // Without workers it is one process.
      const args = ['-m', 'hypercorn', '--workers=0', '--log-level=critical', 'echo_asgi:app']
      const env = { ...PROGRAM_ENV, PYTHONPATH: path, PYTHONDONTWRITEBYTECODE: '1' }
      const started = await startServer('python3', (port) => [...args, `--bind=127.0.0.1:${port}`], env)
      return { ...started, version: /hypercorn-(.*)$/.exec(library)?.[1] ?? 'unknown' }
    },
  },
  Go: {
    counts: 'itself',
    weights: CONNECT,
    async recipe() {
      const started = await startGo(import.meta.dirname, 'echo.go', (port) => [`${port}`])
      return { ...started, version: toVersion(say('go', 'version')) }
    },
  },
  'grpc-go': {
    counts: 'nothing',
    speaksGrpc: true,
    async recipe() {
      const version = `1.64.1, Go ${toVersion(say('go', 'version'))}`
      // It permits PINGs as often as the soak's clients send them.
      return { ...(await startGrpc(['--min-time=10ms', '--max-connection-age=20s'])), version }
    },
  },
  nghttpd: {
    counts: 'nothing',
    async recipe() {
      const version = toVersion(say('nghttpd', '--version'))
      return { ...(await startNghttpd(20_000)), version }
    },
  },
  ...Object.fromEntries(
    ['20', '22', '24', '26'].map((major) => [
      `Node ${major}`,
      { counts: 'itself', weights: { ...CONNECT, ...UPGRADE }, recipe: node(major) },
    ]),
  ),
}

/** The proxies' origin: a connection that they have opened must not be closed by it. */
export const startOrigin = () => startServer(process.execPath, (port) => [ECHO, 'http1', `${port}`])

/** What the origin says over HTTP/1.1. @param {number} port @param {string} path @returns {Promise<any>} */
export async function askOrigin(port, path) {
  const response = await new Promise((resolve, reject) => {
    get({ port, host: '127.0.0.1', path, agent: false }, resolve).on('error', reject)
  })
  return JSON.parse(await text(response))
}
