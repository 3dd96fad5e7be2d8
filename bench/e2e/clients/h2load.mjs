/**
 * nghttp2's load generator, in C: how far a client could get. It has no warm-up by count, so all of its requests are
 * timed.
 */
import { spawnSync } from 'node:child_process'
import { PROGRAM_ENV } from '../../../scripts/program-env.mjs'

const { error, stdout } = spawnSync('h2load', ['--version'], { encoding: 'utf8', env: PROGRAM_ENV })
const hasBash = spawnSync('bash', ['-c', 'true']).error === undefined

/** @type {import('./index.mjs').Program['whyNot']} */
export function whyNot() {
  if (error !== undefined) return 'which is not installed'
  return hasBash ? null : 'which needs bash to take its CPU time'
}

/**
 * @param {string} text
 * @param {RegExp} pattern
 */
function find(text, pattern) {
  const found = pattern.exec(text)?.[1]
  if (found === undefined) throw new Error(`h2load has no ${pattern} in its output:\n${text}`)
  return Number(found)
}

/**
 * @param {string} output
 * @param {{ requests: number, responseBytes: number }} expected
 * @returns {import('../worker.mjs').Measurement}
 */
export function readH2load(output, { requests, responseBytes }) {
  const responded = find(output, /status codes: (\d+) 2xx/)
  const bytes = find(output, /\((\d+)\) data/)
  if (responded !== requests || bytes !== requests * responseBytes)
    throw new Error(`${responded} of ${requests} requests were answered, with ${bytes} bytes\n${output}`)
  const cpuSeconds = find(output, /^user ([\d.]+)/m) + find(output, /^system ([\d.]+)/m)
  return {
    version: stdout.trim(),
    requestsPerSecond: find(output, /finished in [^,]+, ([\d.]+) req\/s/),
    cpuMicros: (cpuSeconds * 1e6) / requests,
    p50Micros: null,
    p99Micros: null,
    allocatedBytes: null,
    gcMicros: null,
    residentBytes: null,
  }
}

/** @type {import('./index.mjs').Program['toCommand']} */
export async function toCommand({ origins, path, file, bodyBytes, responseBytes, inFlight, warmup, ...job }) {
  const requests = warmup + job.requests
  const args = ['-n', requests, '-c', job.connections ?? 1, '-m', inFlight, `${origins[0]}${path}`].map(
    String,
  )
  if (bodyBytes > 0) args.unshift('-d', file)
  // Nothing but the shell tells the CPU time of a program that isn't ours.
  const script = `TIMEFORMAT=$'user %U\\nsystem %S'; { time h2load "$@"; } 2>&1`
  return {
    file: 'bash',
    args: ['-c', script, 'bash', ...args],
    read: (output) => readH2load(output, { requests, responseBytes }),
  }
}
