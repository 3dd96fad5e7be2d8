/**
 * The options of `dodici load`.
 *
 * @module
 */

import { lookup } from 'node:dns/promises'
import { stat } from 'node:fs/promises'
import { isIP } from 'node:net'
import { isSystemError } from '../certificates/cache-folder.ts'
import { CliError, EXIT } from '../cli-error.ts'
import type { ForeignOptions } from '../options.ts'
import { HELP, parseOptions, toDuration, toInteger } from '../options.ts'
import {
  hasField,
  REQUEST_OPTIONS,
  readData,
  readOptionFile,
  readTrust,
  toFields,
  toMethod,
  toResolve,
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
/** In milliseconds. */
const DEFAULT_DURATION = 10_000
/** In milliseconds. */
const DEFAULT_TIMEOUT = 10_000

const { request, header, data, h2c, insecure, ca, cert, key } = REQUEST_OPTIONS

const OPTIONS = {
  sessions: { type: 'string', short: 'c', value: 'N', aliases: ['clients'], help: '' },
  streams: { type: 'string', short: 'm', value: 'N', aliases: ['max-concurrent-streams'], help: '' },
  requests: { type: 'string', short: 'n', value: 'N', help: '' },
  duration: { type: 'string', short: 'D', value: 'TIME', help: '' },
  rate: { type: 'string', value: 'N', help: '' },
  workers: { type: 'string', value: 'N', help: '' },
  threads: { type: 'string', short: 't', value: 'N', help: '' },
  'warm-up': { type: 'string', value: 'TIME', aliases: ['warm-up-time'], help: '' },
  timeout: { type: 'string', value: 'TIME', help: '' },
  request,
  header,
  data,
  'input-file': { type: 'string', short: 'i', value: 'FILE', help: '' },
  'connect-to': { type: 'string', value: 'HOST:PORT', help: '' },
  resolve: { type: 'string', value: 'HOST:PORT:ADDRESS', multiple: true, help: '' },
  h2c,
  insecure,
  ca,
  cert,
  key,
  fail: { type: 'boolean', short: 'f', help: '' },
  'fail-above': { type: 'string', value: 'PERCENT', help: '' },
  json: { type: 'boolean', help: '' },
  chart: { type: 'string', value: 'FILE', help: '' },
  hdr: { type: 'string', value: 'FILE', help: '' },
  yes: { type: 'boolean', short: 'y', help: '' },
  ...HELP,
} as const

const WINDOWS = "the client's windows are fixed"

/** h2load's options that have another name here, or another meaning. */
const FOREIGN: ForeignOptions = {
  '-r': "in h2load it sets connections per second; '--rate' sets requests per second, for all sessions",
  '--rps': "'--rate' sets requests per second, for all sessions",
  '-w': WINDOWS,
  '--window-bits': WINDOWS,
  '-W': WINDOWS,
  '--connection-window-bits': WINDOWS,
  '-T': "'--timeout' limits each request",
  '-N': "'--timeout' limits each request",
  '-B': "'--connect-to HOST:PORT' chooses the address",
  '--base-uri': "'--connect-to HOST:PORT' chooses the address",
  '--h1': 'dodici speaks only HTTP/2',
  '-p': 'an http: URL means h2c',
  '--no-tls-proto': 'an http: URL means h2c',
  '--log-file': "'--hdr FILE' writes the latencies",
}

/** At most 80 columns and 24 lines. */
export const HELP_TEXT = `Sends many requests over HTTP/2 and reports how fast the responses arrive.

Usage: dodici load [OPTIONS] URL...   one origin; the URLs take turns

  -c, --sessions N              connections (default: 1)
  -m, --streams N               concurrent requests on each (default: 100)
  -n, --requests N              how many requests
  -D, --duration TIME           how long: 10, 500ms, 2m (without -n: 10s)
      --rate N                  N requests per second, at fixed times
  -t, --threads N, --workers N  threads (default: 1)
      --warm-up TIME            send this long before measuring
      --timeout TIME            for each request (default: 10s)
  -X, --request METHOD          -H, --header 'NAME: VALUE'     repeatable
  -d, --data DATA|@FILE|@-      the body of each request
  -i, --input-file FILE         URLs, one per line
      --connect-to HOST:PORT, --resolve HOST:PORT:ADDRESS
      --h2c                     no TLS: HTTP/2 with prior knowledge
  -k, --insecure, --ca FILE, --cert FILE, --key FILE           TLS
  -f, --fail, --fail-above PERCENT  exit code 8 for statuses except 2xx, 3xx
      --json, --chart FILE, --hdr FILE  JSON; an SVG; an HdrHistogram log
  -y, --yes                     allow hosts other than this machine
  -h, --help                    show this help; Ctrl-C stops and reports`

/** What the command line asks for. */
export interface LoadOptions {
  readonly url: URL
  readonly spec: LoadSpec
  readonly isJson: boolean
  /** The fraction of responses, from 0 to 1, that may have a status other than 2xx and 3xx; null: any. */
  readonly mayFail: number | null
  /** The file for HdrHistogram: a percentile text if its name ends with `.hgrm`, otherwise a log; null for none. */
  readonly hdr: string | null
  /** The file for the chart; null for none. */
  readonly chart: string | null
  /** Whether the user has agreed to send to other machines. */
  readonly isAgreed: boolean
}

/**
 * Parses a command line.
 *
 * @param input the standard input
 * @returns null if it asks for the help
 * @throws CliError
 */
export async function readLoadOptions(
  args: readonly string[],
  input: () => AsyncIterable<Uint8Array>,
): Promise<LoadOptions | null> {
  const { options, positionals } = parseOptions(args, OPTIONS, FOREIGN)
  if (options.help) return null
  const words = [...positionals, ...(await readInputFile(options['input-file']))]
  const [target, ...others] = words.map((word) => toTarget(word, options.h2c))
  if (target === undefined) throw new CliError('a URL is missing', EXIT.usage)
  const { url, authorization } = target
  const stray = others.find(
    (other) => other.url.origin !== url.origin || other.authorization !== authorization,
  )
  if (stray !== undefined)
    throw new CliError(
      `all URLs need the same origin and user, not ${url.origin} and ${stray.url.origin}`,
      EXIT.usage,
    )
  const fields = toFields(options.header)
  const secret = authorization !== null && !hasField(fields, 'authorization')
  const headers = [...fields.flat(), ...(secret ? ['authorization', authorization] : [])]
  const method = toMethod(options.request, options.data !== undefined)
  const amounts = toAmounts(options)
  const trust = await readTrust(options)
  if (options.data !== undefined) await checkIsNoFile(options.data)
  const body = options.data === undefined ? null : await readData(options.data, input)
  const paths = [target, ...others].map(({ url: { pathname, search } }) => pathname + search)
  const address = await toAddress(url, options['connect-to'], options.resolve)
  const spec = { ...amounts, origin: url.origin, paths, address, method, headers, body, trust }
  return {
    url,
    spec,
    isJson: options.json,
    chart: options.chart ?? null,
    hdr: options.hdr ?? null,
    mayFail: toShare(options.fail, options['fail-above']),
    isAgreed: options.yes,
  }
}

/** One URL per line. Empty lines, and those that begin with `#`, don't count. */
async function readInputFile(path: string | undefined): Promise<string[]> {
  if (path === undefined) return []
  const lines = (await readOptionFile('--input-file', path)).toString().split(/\r?\n/)
  return lines.map((line) => line.trim()).filter((line) => line !== '' && !line.startsWith('#'))
}

function toShare(fails: boolean, above: string | undefined): number | null {
  if (above === undefined) return fails ? 0 : null
  const percent = /^\d{1,3}(\.\d{1,6})?$/.test(above) ? Number(above) : Number.NaN
  if (percent >= 0 && percent <= 100) return percent / 100
  throw new CliError(`--fail-above takes a share from 0 to 100 percent, not '${above}'`, EXIT.usage)
}

const CONNECT_TO = /^(\[[^\]]+\]|[^:[\]]+)(?::(\d{1,5}))?$/

/**
 * Where to connect instead of the URL's host; null: there.
 *
 * @throws CliError
 */
async function toAddress(
  url: URL,
  connectTo: string | undefined,
  resolve: readonly string[],
): Promise<LoadSpec['address']> {
  const port = url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port)
  if (connectTo === undefined) {
    const addresses = toResolve(resolve).get(`${url.hostname}:${port}`)
    return addresses === undefined ? null : { addresses, port }
  }
  if (resolve.length > 0) throw new CliError("--connect-to and --resolve can't be combined", EXIT.usage)
  const [, bracketed = '', given = String(port)] = CONNECT_TO.exec(connectTo) ?? []
  const host = bracketed.replace(/^\[(.+)\]$/, '$1')
  if (host === '') throw new CliError(`--connect-to takes HOST or HOST:PORT, not '${connectTo}'`, EXIT.usage)
  const at = toInteger('--connect-to HOST:PORT', given, 1, 65_535)
  if (isIP(host) !== 0) return { addresses: [host], port: at }
  try {
    const found = await lookup(host, { all: true })
    return { addresses: found.map(({ address }) => address), port: at }
  } catch (error) {
    if (!isSystemError(error)) throw error
    throw new CliError(`--connect-to ${host} can't be resolved: ${error.code}`, EXIT.dns)
  }
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
      | 'threads'
      | 'requests'
      | 'duration'
      | 'rate'
      | 'timeout'
      | 'warm-up']: string | undefined
  },
): Amounts {
  const count = (
    name: 'sessions' | 'streams' | 'workers' | 'threads' | 'requests' | 'rate',
    most: number,
  ) => {
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
  const workers = count('workers', MAX_WORKERS) ?? count('threads', MAX_WORKERS) ?? 1
  if (workers > sessions) {
    throw new CliError(
      `--workers ${workers} needs at least as many sessions: --sessions ${workers} or more, not ${sessions}`,
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

/** h2load's `-d` takes a file: sending its name as each request's body would be a mistake that goes unnoticed. */
async function checkIsNoFile(data: string): Promise<void> {
  const isFile = await stat(data).then(
    (found) => found.isFile(),
    () => false,
  )
  if (isFile)
    throw new CliError(`--data takes DATA, or @FILE: '${data}' is a file, and @${data} sends it`, EXIT.usage)
}
