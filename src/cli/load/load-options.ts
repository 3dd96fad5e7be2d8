/**
 * The options of `dodici load`.
 *
 * @module
 */

import { CliError, EXIT } from '../cli-error.ts'
import { HELP, parseOptions, toDuration, toInteger, toOptionsHelp } from '../options.ts'
import {
  hasField,
  REQUEST_OPTIONS,
  readData,
  readTrust,
  toFields,
  toMethod,
  toTarget,
} from '../request-options.ts'
import type { LoadSpec } from './load-job.ts'

const MAX_SESSIONS = 1_000
const MAX_STREAMS = 10_000
/** Each place has a handler. */
const MAX_PLACES = 100_000
const MAX_WORKERS = 64
const MAX_REQUESTS = 1_000_000_000_000
const MAX_RATE = 1_000_000

const DEFAULT_STREAMS = 100
/** Milliseconds. */
const DEFAULT_DURATION = 10_000
/** Milliseconds. */
const DEFAULT_TIMEOUT = 10_000

const { request, header, data, h2c, insecure, ca } = REQUEST_OPTIONS

const OPTIONS = {
  sessions: { type: 'string', short: 'c', value: 'N', help: 'connections; 1' },
  streams: { type: 'string', short: 'm', value: 'N', help: 'requests at a time on each; 100' },
  requests: { type: 'string', short: 'n', value: 'N', help: 'how many requests' },
  duration: { type: 'string', short: 'd', value: 'TIME', help: 'for how long; 10s, without -n' },
  rate: { type: 'string', short: 'r', value: 'N', help: 'N requests a second, at fixed times' },
  workers: { type: 'string', short: 'w', value: 'N', help: 'threads; 1' },
  'warm-up': { type: 'string', value: 'TIME', help: 'send for so long before it counts' },
  timeout: { type: 'string', value: 'TIME', help: 'of each request; 10s' },
  request,
  header,
  // -d is the duration here.
  data: { ...data, short: 'D' },
  h2c,
  insecure,
  ca,
  json: { type: 'boolean', help: 'the report as JSON' },
  chart: { type: 'string', value: 'FILE', help: 'draw the latencies as an SVG' },
  yes: { type: 'boolean', short: 'y', help: "send to what isn't this machine" },
  ...HELP,
} as const

export const HELP_TEXT = `Sends many requests over HTTP/2, and reports how fast the responses are.

Usage: dodici load [OPTIONS] URL

${toOptionsHelp(OPTIONS)}
TIME is 10, 10s, 500ms or 2m. Ctrl-C ends it with what it has.`

/** What the command line asks for. */
export interface LoadOptions {
  readonly url: URL
  readonly spec: LoadSpec
  readonly isJson: boolean
  /** The file for the chart; null for none. */
  readonly chart: string | null
  /** The user has agreed to send to other machines. */
  readonly isAgreed: boolean
}

/**
 * Reads a command line.
 *
 * @param input the standard input
 * @returns null when it asks for the help
 * @throws CliError
 */
export async function readLoadOptions(
  args: readonly string[],
  input: () => AsyncIterable<Uint8Array>,
): Promise<LoadOptions | null> {
  const { options, positionals } = parseOptions(args, OPTIONS)
  if (options.help) return null
  const [word, ...rest] = positionals
  if (word === undefined || rest.length > 0) {
    throw new CliError(`takes one URL, not ${positionals.length}`, EXIT.usage)
  }
  const { url, authorization } = toTarget(word, options.h2c)
  const fields = toFields(options.header)
  const secret = authorization !== null && !hasField(fields, 'authorization')
  const headers = [...fields.flat(), ...(secret ? ['authorization', authorization] : [])]
  const method = toMethod(options.request, options.data !== undefined)
  const amounts = toAmounts(options)
  const trust = await readTrust(options)
  const body = options.data === undefined ? null : await readData(options.data, input)
  const { origin, pathname, search } = url
  const spec = { ...amounts, origin, path: pathname + search, method, headers, body, trust }
  return { url, spec, isJson: options.json, chart: options.chart ?? null, isAgreed: options.yes }
}

type Amounts = Pick<
  LoadSpec,
  'sessions' | 'streams' | 'workers' | 'requests' | 'duration' | 'rate' | 'timeout' | 'warmUp'
>

/** How much, how long, how fast. */
function toAmounts(
  options: {
    readonly [Name in
      | 'sessions'
      | 'streams'
      | 'workers'
      | 'requests'
      | 'duration'
      | 'rate'
      | 'timeout'
      | 'warm-up']: string | undefined
  },
): Amounts {
  const count = (name: 'sessions' | 'streams' | 'workers' | 'requests' | 'rate', most: number) => {
    const text = options[name]
    return text === undefined ? null : toInteger(`--${name}`, text, 1, most)
  }
  const time = (name: 'duration' | 'timeout' | 'warm-up') => {
    const text = options[name]
    return text === undefined ? null : toDuration(`--${name}`, text)
  }
  const requests = count('requests', MAX_REQUESTS)
  const sessions = count('sessions', MAX_SESSIONS) ?? 1
  const streams = count('streams', MAX_STREAMS) ?? DEFAULT_STREAMS
  const workers = count('workers', MAX_WORKERS) ?? 1
  if (workers > sessions) {
    throw new CliError(
      `--workers ${workers} needs as many sessions: --sessions ${workers} or more, not ${sessions}`,
      EXIT.usage,
    )
  }
  if (sessions * streams > MAX_PLACES) {
    throw new CliError(
      `--sessions ${sessions} and --streams ${streams} are ${sessions * streams} requests at a time, ` +
        `more than ${MAX_PLACES}`,
      EXIT.usage,
    )
  }
  return {
    sessions,
    streams,
    workers,
    requests,
    duration: time('duration') ?? (requests === null ? DEFAULT_DURATION : null),
    rate: count('rate', MAX_RATE),
    timeout: time('timeout') ?? DEFAULT_TIMEOUT,
    warmUp: time('warm-up') ?? 0,
  }
}
