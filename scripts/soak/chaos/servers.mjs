/** The real servers of the chaos soak. What can't be started is left out, aloud; with CI=true that is a failure. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { get } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { PROGRAM_ENV } from '../../program-env.mjs'
import { WEIGHTS } from '../calls.mjs'
import { GRPC_WEIGHTS } from '../grpc-calls.mjs'
import { startGrpc, startOnPort } from '../servers.mjs'
import { CONNECT, FETCHES, UPGRADE, WEB_SOCKETS } from './calls.mjs'
import { toApache, toCaddy, toEnvoy, toH2o, toHaproxy, toNginx } from './configurations.mjs'

const scripts = join(import.meta.dirname, '../..')

/**
 * @typedef {object} RealServer
 * @property {string} name
 * @property {string} version
 * @property {number} port
 * @property {Readonly<Record<string, number>>} weights of the kinds of calls that it understands
 * @property {'itself' | 'its origin' | 'nothing'} counts what counts the POSTs that have come twice
 * @property {boolean} [speaksGrpc]
 * @property {() => Promise<void>} stop
 *
 * @typedef {{ name: string, start: (origin: number) => Promise<RealServer> }} Recipe
 */

const REQUESTS = { ...WEIGHTS, ...FETCHES }

/** What a command says, on either stream, if it ends well. @param {string} command @param {string[]} args */
function say(command, ...args) {
  const { status, stdout, stderr, error } = spawnSync(command, args, { encoding: 'utf8', env: PROGRAM_ENV })
  if (error !== undefined || status !== 0) throw new Error(`${command}: ${error ?? stderr.trim()}`)
  return stdout.trim() || stderr.trim()
}

/** The first thing in a text that looks like a version. @param {string} from */
const toVersion = (from) => /\d+\.\d+(\.\d+)?/.exec(from)?.[0] ?? from

const makeFolder = () => mkdtempSync(join(tmpdir(), 'dodici-chaos-'))

/**
 * A program in front of the origin, with a configuration file.
 *
 * @param {string} name @param {() => { command: string, version: string }} find
 * @param {(place: import('./configurations.mjs').Place) => string} toConfiguration
 * @param {(file: string) => string[]} toArgs @param {Readonly<Record<string, number>>} [more]
 * @returns {Recipe}
 */
function proxy(name, find, toConfiguration, toArgs, more = {}) {
  return {
    name,
    async start(origin) {
      const { command, version } = find()
      const folder = makeFolder()
      const file = join(folder, `configuration${name === 'Envoy' ? '.json' : ''}`)
      const env = { ...PROGRAM_ENV, HOME: folder, XDG_CONFIG_HOME: folder, XDG_DATA_HOME: folder }
      const toAll = (/** @type {number} */ port) => {
        writeFileSync(file, toConfiguration({ port, origin, folder }))
        return toArgs(file)
      }
      const started = await startOnPort(command, toAll, folder, env)
      return { ...started, name, version, weights: { ...REQUESTS, ...more }, counts: 'its origin' }
    },
  }
}

/** @param {string} command @param {string} option */
const installed = (command, option) => () => ({ command, version: toVersion(say(command, option)) })

function findEnvoy() {
  const command = say(join(scripts, 'install-envoy.sh'), '--installed')
  return { command, version: /\/(\d+\.\d+\.\d+)\//.exec(say(command, '--version'))?.[1] ?? 'unknown' }
}

/** @param {string} major @returns {Recipe} */
const node = (major) => ({
  name: `Node ${major}`,
  async start() {
    const command = say(join(scripts, 'install-node.sh'), major)
    const script = join(import.meta.dirname, 'echo-node.mjs')
    const started = await startOnPort(command, (port) => [script, 'h2c', `${port}`], makeFolder())
    const weights = { ...REQUESTS, ...CONNECT, ...UPGRADE }
    return {
      ...started,
      name: `Node ${major}`,
      version: say(command, '-v').slice(1),
      weights,
      counts: 'itself',
    }
  },
})

/** @type {Recipe} */
const go = {
  name: 'Go',
  async start() {
    const folder = makeFolder()
    const binary = join(folder, 'echo')
    say('go', 'build', '-ldflags=-s -w', '-o', binary, join(import.meta.dirname, 'echo.go'))
    const started = await startOnPort(binary, (port) => [`${port}`], folder)
    const version = toVersion(say('go', 'version'))
    return { ...started, name: 'Go', version, weights: { ...REQUESTS, ...CONNECT }, counts: 'itself' }
  },
}

/**
 * Without WebSockets: 0.18 doesn't end the stream of one that the client closes, and drops the connection after one that it
 * closes itself.
 *
 * @type {Recipe}
 */
const hypercorn = {
  name: 'Hypercorn',
  async start() {
    const env = { ...PROGRAM_ENV, PYTHONPATH: say(join(scripts, 'install-hypercorn.sh'), '--installed') }
    // Without workers it is one process.
    const args = ['-m', 'hypercorn', '--workers=0', '--log-level=critical', 'echo_asgi:app']
    const toArgs = (/** @type {number} */ port) => [...args, `--bind=127.0.0.1:${port}`]
    const path = `${env.PYTHONPATH}:${import.meta.dirname}`
    const python = { ...env, PYTHONPATH: path, PYTHONDONTWRITEBYTECODE: '1' }
    const started = await startOnPort('python3', toArgs, makeFolder(), python)
    const version = /hypercorn-(.*)$/.exec(env.PYTHONPATH)?.[1] ?? 'unknown'
    return {
      ...started,
      name: 'Hypercorn',
      version,
      weights: REQUESTS,
      counts: 'itself',
    }
  },
}

/** @type {Recipe} */
const nghttpd = {
  name: 'nghttpd',
  async start() {
    const folder = makeFolder()
    writeFileSync(join(folder, 'soak'), '20000:'.padEnd(20_000, 'n'))
    const version = toVersion(say('nghttpd', '--version'))
    const args = ['--no-tls', '--address=127.0.0.1', '--echo-upload', `--htdocs=${folder}`]
    const started = await startOnPort('nghttpd', (port) => [...args, `${port}`], folder)
    return { ...started, name: 'nghttpd', version, weights: REQUESTS, counts: 'nothing' }
  },
}

/** @type {Recipe} */
const grpcGo = {
  name: 'grpc-go',
  async start() {
    const go = toVersion(say('go', 'version'))
    // It permits PINGs as often as the soak's clients send them.
    const started = await startGrpc(['--min-time=10ms', '--max-connection-age=20s'])
    const version = `1.64.1, Go ${go}`
    return {
      ...started,
      name: 'grpc-go',
      version,
      weights: GRPC_WEIGHTS,
      counts: 'nothing',
      speaksGrpc: true,
    }
  },
}

/** @type {readonly Recipe[]} */
const RECIPES = [
  proxy('nginx', installed('nginx', '-v'), toNginx, (file) => ['-c', file]),
  // -X: one process, as it is killed.
  proxy('Apache', installed('apache2', '-v'), toApache, (file) => ['-f', file, '-X']),
  proxy(
    'Envoy',
    findEnvoy,
    toEnvoy,
    (file) => ['-c', file, '--disable-hot-restart', '--concurrency', '1', '--log-level', 'off'],
    WEB_SOCKETS,
  ),
  proxy('HAProxy', installed('haproxy', '-v'), toHaproxy, (file) => ['-f', file, '-db'], WEB_SOCKETS),
  proxy('h2o', installed('h2o', '--version'), toH2o, (file) => ['-m', 'worker', '-c', file]),
  proxy('Caddy', installed('caddy', 'version'), toCaddy, (file) => [
    ...['run', '--config', file, '--adapter', 'caddyfile'],
  ]),
  hypercorn,
  go,
  grpcGo,
  nghttpd,
  ...['20', '22', '24', '26'].map(node),
]

/** @typedef {{ posts: number, twice: string[] }} PostTally */

/** @param {number} port @returns {Promise<PostTally>} */
export async function askOrigin(port) {
  const response = await new Promise((resolve, reject) => {
    get({ port, host: '127.0.0.1', path: '/tally', agent: false }, resolve).on('error', reject)
  })
  return JSON.parse(await text(response))
}

/**
 * @param {(line: string) => void} onMissing one that is left out
 * @param {string | undefined} only the names of those that are wanted, separated by commas; undefined: all
 */
export async function startServers(onMissing, only) {
  // The proxies' origin: a connection that they have opened must not be closed by it.
  const script = join(import.meta.dirname, 'echo-node.mjs')
  const origin = await startOnPort(process.execPath, (port) => [script, 'http1', `${port}`], makeFolder())
  /** @type {RealServer[]} */
  const servers = []
  const wanted = only?.split(',')
  for (const { name, start } of RECIPES) {
    if (wanted !== undefined && !wanted.includes(name)) continue
    try {
      servers.push(await start(origin.port))
    } catch (error) {
      onMissing(`${name}: ${error instanceof Error ? error.message : String(error)}`.replaceAll('\n', ' '))
    }
  }
  return {
    servers,
    tallyOrigin: () => askOrigin(origin.port),
    stop: () => Promise.all([...servers, origin].map((server) => server.stop())),
  }
}
