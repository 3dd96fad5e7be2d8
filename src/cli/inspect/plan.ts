/**
 * The command line of `dodici URL` → what to do.
 *
 * @module
 */

import type { EngineName } from '../../../types/engine.ts'
import type { Field } from '../../protocol/inspect/field-blocks.ts'
import { CliError, EXIT } from '../cli-error.ts'
import type { ForeignOptions } from '../options.ts'
import { HELP, parseOptions, toDuration } from '../options.ts'
import type { Target, TrustOptions } from '../request-options.ts'
import {
  hasField,
  REQUEST_OPTIONS,
  readOptionFile,
  readTrust,
  toFields,
  toMethod,
  toResolve,
  toTarget,
} from '../request-options.ts'
import type { Terminal } from '../terminal.ts'
import { CONTENT_CODINGS } from './decoded.ts'
import type { Upload } from './upload.ts'
import { readAllData, readUpload } from './upload.ts'

/** Its help is written by hand, because a line for each of so many options wouldn't fit on a screen. */
export const OPTIONS = {
  ...REQUEST_OPTIONS,
  data: { ...REQUEST_OPTIONS.data, multiple: true, aliases: ['data-binary', 'data-ascii'] },
  'data-raw': { type: 'string', value: 'DATA', multiple: true, help: '' },
  'data-urlencode': { type: 'string', value: 'DATA', multiple: true, help: '' },
  get: { type: 'boolean', short: 'G', help: '' },
  referer: { type: 'string', short: 'e', value: 'URL', help: '' },
  compressed: { type: 'boolean', help: '' },
  form: { type: 'string', short: 'F', value: 'NAME=VALUE', multiple: true, help: '' },
  upload: { type: 'string', short: 'T', value: 'FILE', aliases: ['upload-file'], help: '' },
  user: { type: 'string', short: 'u', value: 'USER:PASSWORD', help: '' },
  'user-agent': { type: 'string', short: 'A', value: 'NAME', help: '' },
  cookie: { type: 'string', short: 'b', value: 'NAME=VALUE', multiple: true, help: '' },
  output: { type: 'string', short: 'o', value: 'FILE', help: '' },
  'remote-name': { type: 'boolean', short: 'O', help: '' },
  include: { type: 'boolean', short: 'i', aliases: ['show-headers'], help: '' },
  head: { type: 'boolean', short: 'I', help: '' },
  location: { type: 'boolean', short: 'L', help: '' },
  raw: { type: 'boolean', help: '' },
  trailers: { type: 'boolean', help: '' },
  // HTTP/2 is used in any case.
  http2: { type: 'boolean', help: '' },
  cert: { ...REQUEST_OPTIONS.cert, short: 'E' },
  resolve: { type: 'string', value: 'HOST:PORT:ADDRESS', multiple: true, help: '' },
  'unix-socket': { type: 'string', value: 'PATH', help: '' },
  proxy: { type: 'string', short: 'x', value: 'URL', help: '' },
  engine: { type: 'string', value: 'wire|node', help: '' },
  timeout: { type: 'string', short: 'm', value: 'DURATION', aliases: ['max-time'], help: '' },
  fail: { type: 'boolean', short: 'f', aliases: ['fail-with-body'], help: '' },
  // Each piece of a body is written as it arrives.
  'no-buffer': { type: 'boolean', short: 'N', help: '' },
  'write-out': { type: 'string', short: 'w', value: 'FORMAT', help: '' },
  verbose: { type: 'boolean', short: 'v', help: '' },
  silent: { type: 'boolean', short: 's', help: '' },
  // Errors are shown in any case.
  'show-error': { type: 'boolean', short: 'S', help: '' },
  json: { type: 'boolean', help: '' },
  'show-secrets': { type: 'boolean', help: '' },
  ...HELP,
} as const

const ONLY_HTTP2 = 'dodici speaks only HTTP/2'
const NO_COOKIE_FILES = 'dodici stores no cookies; -b NAME=VALUE sends one'
const RANGE = "-H 'range: bytes=0-99' asks for a part"
const WHOLE_CALL = '--timeout limits the whole call'
const ONE_CALL = 'dodici makes only one attempt'
const WITH_ADDRESS = '--resolve HOST:PORT:ADDRESS chooses the address'
const QUIET = '--silent shows only errors'

/** curl's everyday options that have another name here, or no effect. */
const FOREIGN: ForeignOptions = {
  '-0': ONLY_HTTP2,
  '--http1.0': ONLY_HTTP2,
  '--http1.1': ONLY_HTTP2,
  '--http3': ONLY_HTTP2,
  '-c': NO_COOKIE_FILES,
  '--cookie-jar': NO_COOKIE_FILES,
  '-r': RANGE,
  '--range': RANGE,
  '-C': RANGE,
  '--continue-at': RANGE,
  '-D': '--include shows the header section',
  '--dump-header': '--include shows the header section',
  '--oauth2-bearer': "-H 'authorization: Bearer TOKEN' sends it",
  '--connect-timeout': WHOLE_CALL,
  '--retry': ONE_CALL,
  '-4': WITH_ADDRESS,
  '--ipv4': WITH_ADDRESS,
  '-6': WITH_ADDRESS,
  '--ipv6': WITH_ADDRESS,
  '--connect-to': WITH_ADDRESS,
  '-U': 'put the credentials in --proxy http://USER:PASSWORD@HOST',
  '--proxy-user': 'put the credentials in --proxy http://USER:PASSWORD@HOST',
  '--url': 'pass the URL without an option',
  '-#': QUIET,
  '--progress-bar': QUIET,
  '--no-progress-meter': QUIET,
}

/** At most 80 columns and 24 lines. */
export const HELP_TEXT = `Connects to an endpoint over HTTP/2, sends a request and reports on both.

Usage: dodici [OPTIONS] URL   default scheme: https:, or http: with --h2c

  -X, --request METHOD          -H, --header 'NAME: VALUE'     repeatable
  -d, --data DATA|@FILE|@-      -F, --form NAME=VALUE|NAME=@FILE  repeatable
      --data-raw DATA, --data-urlencode DATA, -G, --get    data in the query
  -T, --upload FILE|-, -I, --head, -e, --referer URL, --compressed   decode
  -u, --user USER:PASSWORD  -A, --user-agent NAME  -b, --cookie NAME=VALUE
  -o, --output FILE|-           -O, --remote-name    where to save the body
  -i, --include, -L, --location    show the header section; follow redirects
      --raw, --trailers         fields as received; show the trailer section
      --h2c                     no TLS: HTTP/2 with prior knowledge
  -k, --insecure, --ca FILE, --cert FILE, --key FILE           TLS
      --resolve HOST:PORT:ADDRESS, --unix-socket PATH, -x, --proxy URL
      --engine wire|node        HTTP/2 implementation (default: wire)
  -m, --timeout DURATION        for the whole call: 10s, 500ms, 2m
  -f, --fail                    exit code 8 for a status of 400 or more
  -v, --verbose, -s, --silent   show all frames; show no report
  -w, --write-out FORMAT        as in curl: '%{http_code} %{time_total}\\n'
      --json, --show-secrets    JSON report; show authorization and cookies
  -h, --help                    show this help
The body goes to standard output, the report to standard error.`

/** A response that has led elsewhere. */
export interface Redirect {
  readonly url: string
  readonly status: number
}

/** What to do. */
export interface Plan {
  readonly target: Target
  readonly method: string
  readonly fields: readonly Field[]
  readonly upload: Upload
  readonly trust: TrustOptions
  /** Addresses by `HOST:PORT`, with the host as a URL writes it. */
  readonly resolve: ReadonlyMap<string, readonly string[]>
  /** Null for none. */
  readonly proxy: URL | null
  readonly engine: EngineName
  /** For the whole call, in milliseconds; null for none. */
  readonly timeout: number | null
  /** A path; `-`: the standard output, even for a binary body on a terminal; null: the standard output. */
  readonly output: string | null
  /** Whether the header section goes to the standard output, before the body. */
  readonly includesHeaders: boolean
  readonly followsRedirects: boolean
  /** The redirects that were followed so far. */
  readonly redirects: readonly Redirect[]
  /** A path instead of an address; null for none. */
  readonly unixSocket: string | null
  /** Written to the standard output at the end; null for nothing. */
  readonly writeOut: string | null
  /** Whether to omit the report. */
  readonly isSilent: boolean
  /** Whether to decode the response body. */
  readonly decodes: boolean
  readonly isRaw: boolean
  readonly showsTrailers: boolean
  readonly fails: boolean
  readonly isVerbose: boolean
  readonly isJson: boolean
  readonly showsSecrets: boolean
}

/**
 * Parses the command line, and reads the files that it names.
 *
 * @returns null for `--help`
 * @throws CliError
 */
export async function toPlan(args: readonly string[], terminal: Terminal): Promise<Plan | null> {
  const { given, options, positionals } = parseOptions(args, OPTIONS, FOREIGN)
  if (options.help) return null
  const [url, ...rest] = positionals
  if (url === undefined) throw new CliError('a URL is missing', EXIT.usage)
  if (rest.length > 0) {
    const json = options.json ? ', and --json takes no value: -d DATA sends a body' : ''
    throw new CliError(`takes one URL, not ${positionals.length}${json}`, EXIT.usage)
  }
  const target = toTarget(url, options.h2c)
  const proxy = options.proxy === undefined ? null : toProxy(options.proxy)
  if (proxy !== null && options.resolve.length > 0) {
    throw new CliError('--resolve has no effect with --proxy: the proxy resolves the names', EXIT.usage)
  }
  const unixSocket = options['unix-socket'] ?? null
  if (proxy !== null && unixSocket !== null)
    throw new CliError("--unix-socket and --proxy can't be combined", EXIT.usage)
  if (options.json && (options.include || options.head))
    throw new CliError(
      '--json contains the header section: --include and --head have no effect with it',
      EXIT.usage,
    )
  const fields = [...toFields(options.header), ...toShortcuts(options)]
  const data = await readAllData(given, () => terminal.input)
  if (options.get && data !== null) addToQuery(target.url, data)
  const upload = await readUpload({ ...options, data: options.get ? null : data }, () => terminal.input)
  const method = options.request ?? (options.head ? 'HEAD' : options.upload === undefined ? undefined : 'PUT')
  return {
    target,
    method: toMethod(method, upload.body !== null),
    fields: [...fields, ...toOwnFields(fields, target, upload, options.trailers)],
    upload,
    trust: await readTrust(options),
    resolve: toResolve(options.resolve),
    proxy,
    engine: toEngine(options.engine),
    timeout: options.timeout === undefined ? null : toDuration('--timeout', options.timeout),
    output: options.output ?? (options['remote-name'] ? toRemoteName(target.url) : null),
    includesHeaders: options.include || options.head,
    followsRedirects: options.location,
    redirects: [],
    unixSocket,
    writeOut: options['write-out'] === undefined ? null : await readFormat(options['write-out']),
    isSilent: options.silent,
    decodes: options.compressed,
    isRaw: options.raw,
    showsTrailers: options.trailers,
    fails: options.fail,
    isVerbose: options.verbose,
    isJson: options.json,
    showsSecrets: options['show-secrets'],
  }
}

/** `--get`: the data follows what the URL has. */
function addToQuery(url: URL, data: Buffer): void {
  url.search += `${url.search === '' ? '' : '&'}${data}`
}

/** Fields with their own options. */
function toShortcuts(options: {
  readonly user: string | undefined
  readonly 'user-agent': string | undefined
  readonly cookie: readonly string[]
  readonly referer: string | undefined
  readonly compressed: boolean
}): Field[] {
  const { user, cookie, referer } = options
  const agent = options['user-agent']
  if (user !== undefined && !user.includes(':'))
    throw new CliError('--user takes USER:PASSWORD, and there is no colon', EXIT.usage)
  const pairs = cookie.filter((each) => !each.includes('='))
  if (pairs.length > 0)
    throw new CliError(
      "--cookie takes NAME=VALUE, and one has no '='. Dodici doesn't read cookie files",
      EXIT.usage,
    )
  return toFields([
    ...(user === undefined ? [] : [`authorization: Basic ${Buffer.from(user).toString('base64')}`]),
    ...(agent === undefined ? [] : [`user-agent: ${agent}`]),
    ...(referer === undefined ? [] : [`referer: ${referer}`]),
    ...(options.compressed ? [`accept-encoding: ${CONTENT_CODINGS}`] : []),
    ...(cookie.length === 0 ? [] : [`cookie: ${cookie.join('; ')}`]),
  ])
}

/**
 * The file for `--remote-name`, in the process's folder.
 *
 * @throws CliError if the URL names none
 */
function toRemoteName({ pathname }: URL): string {
  const name = pathname.slice(pathname.lastIndexOf('/') + 1)
  // It is a path on this system, so no part of it may lead elsewhere.
  if (name !== '' && name !== '.' && name !== '..' && !name.includes('\\') && !name.includes('\0'))
    return name
  throw new CliError(
    '--remote-name takes the file name from the URL, but its path ends without one',
    EXIT.usage,
  )
}

/** `@FILE` contains the format; `@-` isn't accepted, because the standard input is for the body. */
async function readFormat(text: string): Promise<string> {
  return text.startsWith('@') ? (await readOptionFile('--write-out', text.slice(1))).toString() : text
}

/** Fields that the user hasn't given. */
function toOwnFields(
  given: readonly Field[],
  { authorization }: Target,
  { contentType }: Upload,
  wantsTrailers: boolean,
): Field[] {
  const own: [name: string, value: string | null][] = [
    ['accept', '*/*'],
    ['user-agent', 'dodici'],
    ['authorization', authorization],
    ['content-type', contentType],
    // RFC 9110 §6.5.1: without it, a server may omit the trailer section.
    ['te', wantsTrailers ? 'trailers' : null],
  ]
  return own.flatMap(([name, value]): Field[] => {
    return value === null || hasField(given, name) ? [] : [[name, value]]
  })
}

const PROXY_PROTOCOLS: ReadonlySet<string> = new Set(['http:', 'https:', 'socks5:', 'socks:'])

function toProxy(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : null
  if (url !== null && PROXY_PROTOCOLS.has(url.protocol) && url.hostname !== '') return url
  // It may contain credentials, so it isn't shown.
  throw new CliError('--proxy takes a URL that begins with http://, https:// or socks5://', EXIT.usage)
}

function toEngine(text: string | undefined): EngineName {
  if (text === undefined || text === 'wire') return 'wire'
  if (text === 'node') return 'node'
  throw new CliError(`--engine takes wire or node, not '${text}'`, EXIT.usage)
}
