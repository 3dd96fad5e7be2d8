/** The servers whose tolerance of resets is measured, as they come: over h2c, with their own limits. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PROGRAM_ENV } from '../program-env.mjs'
import { toEnvoy, toH2o, toNginx } from '../soak/chaos/configurations.mjs'
import { startOnPort } from '../soak/servers.mjs'

const scripts = join(import.meta.dirname, '..')

/**
 * @typedef {object} Measured
 * @property {string} name
 * @property {string} version
 * @property {number} port
 * @property {boolean} [isOrigin] whether it has the paths of `origin.mjs` itself
 * @property {boolean} [isUpload] whether it can be made to wait only by an upload
 * @property {() => Promise<void>} stop
 *
 * @typedef {{ name: string, start: (origin: number) => Promise<Measured> }} Recipe
 */

const makeFolder = () => mkdtempSync(join(tmpdir(), 'dodici-resets-'))

/** What a command says, on either stream, if it ends well. @param {string} command @param {string[]} args */
function say(command, ...args) {
  const { status, stdout, stderr, error } = spawnSync(command, args, { encoding: 'utf8', env: PROGRAM_ENV })
  if (error !== undefined || status !== 0) throw new Error(`${command}: ${error ?? stderr.trim()}`)
  return stdout.trim() || stderr.trim()
}

/** @param {string} from */
const toVersion = (from) => /\d+\.\d+(\.\d+)?/.exec(from)?.[0] ?? from

/**
 * A program in front of the origin.
 *
 * @param {string} name @param {() => { command: string, version: string }} find
 * @param {(place: import('../soak/chaos/configurations.mjs').Place) => string} toConfiguration
 * @param {(file: string) => string[]} toArgs
 * @returns {Recipe}
 */
function proxy(name, find, toConfiguration, toArgs) {
  return {
    name,
    async start(origin) {
      const { command, version } = find()
      const folder = makeFolder()
      const file = join(folder, name === 'Envoy' ? 'configuration.json' : 'configuration')
      const env = { ...PROGRAM_ENV, HOME: folder, XDG_CONFIG_HOME: folder, XDG_DATA_HOME: folder }
      const toAll = (/** @type {number} */ port) => {
        writeFileSync(file, toConfiguration({ port, origin, folder }))
        return toArgs(file)
      }
      return { ...(await startOnPort(command, toAll, folder, env)), name, version }
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
    const script = join(import.meta.dirname, 'origin.mjs')
    const started = await startOnPort(command, (port) => [script, 'h2c', `${port}`], makeFolder())
    return { ...started, name: `Node ${major}`, version: say(command, '-v').slice(1), isOrigin: true }
  },
})

/** @type {Recipe} */
const go = {
  name: 'Go',
  async start() {
    const folder = makeFolder()
    const binary = join(folder, 'origin')
    say('go', 'build', '-ldflags=-s -w', '-o', binary, join(import.meta.dirname, 'origin.go'))
    const started = await startOnPort(binary, (port) => [`${port}`], folder)
    return { ...started, name: 'Go', version: toVersion(say('go', 'version')), isOrigin: true }
  },
}

/** A server of files can't be made to wait: its uploads wait for their end. @type {Recipe} */
const nghttpd = {
  name: 'nghttpd',
  async start() {
    const folder = makeFolder()
    const version = toVersion(say('nghttpd', '--version'))
    const args = ['--no-tls', '--address=127.0.0.1', '--echo-upload', `--htdocs=${folder}`]
    const started = await startOnPort('nghttpd', (port) => [...args, `${port}`], folder)
    return { ...started, name: 'nghttpd', version, isUpload: true }
  },
}

/** @type {readonly Recipe[]} */
const RECIPES = [
  ...['20', '22', '24', '26'].map(node),
  go,
  nghttpd,
  proxy('nginx', installed('nginx', '-v'), toNginx, (file) => ['-c', file]),
  proxy('Envoy', findEnvoy, toEnvoy, (file) => [
    ...['-c', file, '--disable-hot-restart', '--concurrency', '1', '--log-level', 'off'],
  ]),
  proxy('h2o', installed('h2o', '--version'), toH2o, (file) => ['-m', 'worker', '-c', file]),
]

/** The origin of the proxies. */
export function startOrigin() {
  const script = join(import.meta.dirname, 'origin.mjs')
  return startOnPort(process.execPath, (port) => [script, 'http1', `${port}`], makeFolder())
}

/** @param {string | undefined} only names, separated by commas; undefined: all */
export function toRecipes(only) {
  const wanted = only?.split(',')
  return RECIPES.filter(({ name }) => wanted === undefined || wanted.includes(name))
}
