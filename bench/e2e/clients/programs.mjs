/**
 * Clients that aren't JavaScript, and run in place of worker.mjs.
 *
 * @typedef {import('./index.mjs').Program} Program
 */
import { spawnSync } from 'node:child_process'
import { copyFileSync, readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { outputOf } from '../../../scripts/processes.mjs'
import { PROGRAM_ENV } from '../../../scripts/program-env.mjs'
import { directory, start } from '../children.mjs'

/** The first time it compiles a standard library, or all crates. Milliseconds. */
const BUILD_LIMIT = 600_000
/** The first one in which net/http can be kept to one connection above its limit of streams. */
const OLDEST = 26

/** @param {string} program @param {string[]} args */
const ask = (program, ...args) => spawnSync(program, args, { encoding: 'utf8', env: PROGRAM_ENV })

/** @param {string} path */
const toFile = (path) => fileURLToPath(new URL(path, import.meta.url))

/** @type {Promise<string> | undefined} */
let builtGo
/** @type {Promise<string> | undefined} */
let builtRust

async function buildGo() {
  const binary = join(directory, 'go-client')
  // Where it goes away with all else, also when this run is interrupted meanwhile.
  const env = { GOTMPDIR: directory }
  await outputOf(start('server', 'go', ['build', '-o', binary, toFile('go/main.go')], env), BUILD_LIMIT)
  return binary
}

/** Go's net/http: a small program, built once a run, which takes the same job as worker.mjs and writes the same line. @type {Program} */
export const go = {
  whyNot() {
    const { error, stdout } = ask('go', 'env', 'GOVERSION')
    if (error !== undefined) return 'which is not installed'
    const isNew = Number(/^go1\.(\d+)/.exec(stdout)?.[1]) >= OLDEST
    return isNew ? null : `which needs Go 1.${OLDEST}, and this is ${stdout.trim()}`
  },
  async toCommand(job) {
    builtGo ??= buildGo()
    return { file: await builtGo, args: [JSON.stringify(job)], read: JSON.parse }
  },
}

const CARGO = ['--locked', '--manifest-path', toFile('rust/Cargo.toml')]
/** Kept from run to run, and for each checkout: the crates take half a minute to compile. */
const CARGO_TARGET_DIR = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'dodici/rust-client')

async function buildRust() {
  const args = ['build', '--quiet', '--release', ...CARGO]
  await outputOf(start('server', 'cargo', args, { CARGO_TARGET_DIR }), BUILD_LIMIT)
  const binary = join(directory, 'rust-client')
  // Another checkout may build its own there meanwhile.
  copyFileSync(join(CARGO_TARGET_DIR, 'release/rust-client'), binary)
  return binary
}

/** Rust's hyper on a runtime of one thread. @type {Program} */
export const rust = {
  whyNot() {
    if (ask('cargo', '--version').error !== undefined) return 'as cargo is not installed'
    // Nothing is downloaded again that is there.
    return ask('cargo', 'fetch', '--quiet', ...CARGO).status === 0 ? null : 'whose crates cannot be fetched'
  },
  async toCommand(job) {
    builtRust ??= buildRust()
    const version = /name = "hyper"\nversion = "(.*)"/.exec(
      readFileSync(toFile('rust/Cargo.lock'), 'utf8'),
    )?.[1]
    return { file: await builtRust, args: [JSON.stringify({ ...job, version })], read: JSON.parse }
  },
}

/** @param {string} text @param {RegExp} pattern */
function find(text, pattern) {
  const found = pattern.exec(text)?.[1]
  if (found === undefined) throw new Error(`h2load has no ${pattern} in its output:\n${text}`)
  return Number(found)
}

/**
 * @param {string} output @param {{ requests: number, responseBytes: number }} expected
 * @returns {import('../worker.mjs').Measurement}
 */
export function readH2load(output, { requests, responseBytes }) {
  const responded = find(output, /status codes: (\d+) 2xx/)
  const bytes = find(output, /\((\d+)\) data/)
  if (responded !== requests || bytes !== requests * responseBytes)
    throw new Error(`${responded} of ${requests} requests were answered, with ${bytes} bytes\n${output}`)
  const cpuSeconds = find(output, /^user ([\d.]+)/m) + find(output, /^system ([\d.]+)/m)
  return {
    version: ask('h2load', '--version').stdout.trim(),
    requestsPerSecond: find(output, /finished in [^,]+, ([\d.]+) req\/s/),
    cpuMicros: (cpuSeconds * 1e6) / requests,
    ...{ p50Micros: null, p99Micros: null, allocatedBytes: null, gcMicros: null, residentBytes: null },
  }
}

/** nghttp2's load generator, in C: how far a client could get. It has no warm-up by count, so all of its requests are timed. @type {Program} */
export const h2load = {
  whyNot() {
    if (ask('h2load', '--version').error !== undefined) return 'which is not installed'
    return ask('bash', '-c', 'true').error === undefined ? null : 'which needs bash to take its CPU time'
  },
  async toCommand({ origins, path, file, bodyBytes, responseBytes, inFlight, warmup, ...job }) {
    const requests = warmup + job.requests
    const counts = ['-n', requests, '-c', job.connections ?? 1, '-m', inFlight].map(String)
    const args = [...(bodyBytes > 0 ? ['-d', file] : []), ...counts, `${origins[0]}${path}`]
    // Nothing but the shell tells the CPU time of a program that isn't ours.
    const script = `TIMEFORMAT=$'user %U\\nsystem %S'; { time h2load "$@"; } 2>&1`
    return {
      file: 'bash',
      args: ['-c', script, 'bash', ...args],
      read: (output) => readH2load(output, { requests, responseBytes }),
    }
  },
}
