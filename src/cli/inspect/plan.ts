/**
 * The command line of `dodici URL` → what is to be done.
 *
 * @module
 */

import { isIP } from 'node:net'
import type { EngineName } from '../../../types/engine.ts'
import type { Field } from '../../protocol/inspect/field-blocks.ts'
import { CliError, EXIT } from '../cli-error.ts'
import { HELP, parseOptions, toDuration } from '../options.ts'
import type { Target, TrustOptions } from '../request-options.ts'
import { hasField, REQUEST_OPTIONS, readTrust, toFields, toMethod, toTarget } from '../request-options.ts'
import type { Terminal } from '../terminal.ts'
import type { Upload } from './upload.ts'
import { readUpload } from './upload.ts'

/** Its help is written by hand: a line for each of so many options is more than a screen. */
export const OPTIONS = {
  ...REQUEST_OPTIONS,
  form: { type: 'string', short: 'F', value: 'NAME=VALUE', multiple: true, help: '' },
  upload: { type: 'string', short: 'T', value: 'FILE', help: '' },
  output: { type: 'string', short: 'o', value: 'FILE', help: '' },
  raw: { type: 'boolean', help: '' },
  trailers: { type: 'boolean', help: '' },
  resolve: { type: 'string', value: 'HOST:PORT:ADDRESS', multiple: true, help: '' },
  proxy: { type: 'string', value: 'URL', help: '' },
  engine: { type: 'string', value: 'wire|node', help: '' },
  timeout: { type: 'string', value: 'DURATION', help: '' },
  fail: { type: 'boolean', help: '' },
  verbose: { type: 'boolean', short: 'v', help: '' },
  json: { type: 'boolean', help: '' },
  'show-secrets': { type: 'boolean', help: '' },
  ...HELP,
} as const

/** 80 columns and 23 lines at most. */
export const HELP_TEXT = `Connects to an endpoint over HTTP/2, sends a request, and reports on both.

Usage: dodici [OPTIONS] URL   without a scheme: https:, with --h2c http: (h2c)

  -X, --request METHOD          -H, --header 'NAME: VALUE'     repeatable
  -d, --data DATA|@FILE|@-      -F, --form NAME=VALUE|NAME=@FILE  repeatable
  -T, --upload FILE|-           PUT the file, or the standard input
  -o, --output FILE|-           the body goes there, not to the standard output
      --raw, --trailers         fields as they came; show the trailer section
      --h2c                     no TLS: HTTP/2 by prior knowledge
  -k, --insecure, --ca FILE     accept any certificate; trust those of FILE
      --resolve HOST:PORT:ADDRESS, --proxy URL
      --engine wire|node        which implementation of HTTP/2; wire
      --timeout DURATION        of the whole call: 10s, 500ms, 2m
      --fail                    exit code 8 for a status of 400 or more
  -v, --verbose                 frames as they come and go
      --json                    one document on the standard output
      --show-secrets            don't hide authorization, cookies and keys
  -h, --help                    show this help

The body goes to the standard output, the report to the standard error.
Exit codes: 0 done, 2 usage, 3 DNS, 4 connect, 5 TLS, 6 protocol, 7 timeout,
8 --fail, 130 Ctrl-C, 1 another failure.`

/** What is to be done. */
export interface Plan {
  readonly target: Target
  readonly method: string
  readonly fields: readonly Field[]
  readonly upload: Upload
  readonly trust: TrustOptions
  /** Addresses by `HOST:PORT`, with the host as a URL has it. */
  readonly resolve: ReadonlyMap<string, readonly string[]>
  /** Null for none. */
  readonly proxy: URL | null
  readonly engine: EngineName
  /** Of the whole call. Milliseconds; null for none. */
  readonly timeout: number | null
  /** A path; `-`: the standard output, a terminal and a binary body included; null: the standard output. */
  readonly output: string | null
  readonly isRaw: boolean
  readonly showsTrailers: boolean
  readonly fails: boolean
  readonly isVerbose: boolean
  readonly isJson: boolean
  readonly showsSecrets: boolean
}

/**
 * Reads the command line, and the files that it names.
 *
 * @returns null for `--help`
 * @throws CliError
 */
export async function toPlan(args: readonly string[], terminal: Terminal): Promise<Plan | null> {
  const { options, positionals } = parseOptions(args, OPTIONS)
  if (options.help) return null
  const [url, ...rest] = positionals
  if (url === undefined) throw new CliError('a URL is missing', EXIT.usage)
  if (rest.length > 0) throw new CliError(`takes one URL, not ${positionals.length}`, EXIT.usage)
  const target = toTarget(url, options.h2c)
  const proxy = options.proxy === undefined ? null : toProxy(options.proxy)
  if (proxy !== null && options.resolve.length > 0) {
    throw new CliError('--resolve has no effect with --proxy: the proxy resolves the names', EXIT.usage)
  }
  const fields = toFields(options.header)
  const upload = await readUpload(options, () => terminal.input)
  const method = options.request ?? (options.upload === undefined ? undefined : 'PUT')
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
    output: options.output ?? null,
    isRaw: options.raw,
    showsTrailers: options.trailers,
    fails: options.fail,
    isVerbose: options.verbose,
    isJson: options.json,
    showsSecrets: options['show-secrets'],
  }
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
    // RFC 9110 §6.5.1: without it, a server may leave the trailer section out.
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
  // It may have credentials: it isn't shown.
  throw new CliError('--proxy takes a URL that begins with http://, https:// or socks5://', EXIT.usage)
}

function toEngine(text: string | undefined): EngineName {
  if (text === undefined || text === 'wire') return 'wire'
  if (text === 'node') return 'node'
  throw new CliError(`--engine takes wire or node, not '${text}'`, EXIT.usage)
}

/** An IPv6 host has brackets, as in a URL; its address may have them. */
const RESOLVE = /^(\[[^\]]+\]|[^:[\]]+):(\d{1,5}):(.+)$/

function toResolve(entries: readonly string[]): Map<string, readonly string[]> {
  const resolved = new Map<string, readonly string[]>()
  for (const entry of entries) {
    const [, host = '', port = '', list = ''] = RESOLVE.exec(entry) ?? []
    const addresses = list.split(',').map((address) => address.replace(/^\[(.+)\]$/, '$1'))
    if (!addresses.every((address) => isIP(address) !== 0)) {
      const accepted = 'HOST:PORT:ADDRESS with an IP address, or several apart by commas'
      throw new CliError(`--resolve takes ${accepted}, not '${entry}'`, EXIT.usage)
    }
    const url = `http://${host}`
    resolved.set(`${URL.canParse(url) ? new URL(url).hostname : host}:${Number(port)}`, addresses)
  }
  return resolved
}
