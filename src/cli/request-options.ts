/**
 * The options that all commands which send requests share, and what they mean.
 *
 * @module
 */

import { X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { isIP } from 'node:net'
import { createSecureContext } from 'node:tls'
import type { Field } from '../protocol/inspect/field-blocks.ts'
import { HIDDEN, hideUserInfo } from '../protocol/inspect/secrets.ts'
import { isToken } from '../request/field-names.ts'
import { isSystemError } from './certificates/cache-folder.ts'
import { CliError, EXIT } from './cli-error.ts'

/** The request, and how to connect. A command may give one of them another letter. */
export const REQUEST_OPTIONS = {
  request: { type: 'string', short: 'X', value: 'METHOD', help: 'GET; POST with a body' },
  header: {
    type: 'string',
    short: 'H',
    value: "'NAME: VALUE'",
    multiple: true,
    help: 'a header field; repeatable',
  },
  data: {
    type: 'string',
    short: 'd',
    value: 'DATA',
    aliases: ['data-binary'],
    help: 'the body; @FILE reads a file, @- standard input',
  },
  h2c: { type: 'boolean', aliases: ['http2-prior-knowledge'], help: 'a URL without a scheme is http:' },
  insecure: { type: 'boolean', short: 'k', help: 'accept any certificate' },
  ca: {
    type: 'string',
    value: 'FILE',
    aliases: ['cacert'],
    help: 'trust only these certificates',
  },
  cert: { type: 'string', value: 'FILE', help: 'the client certificate' },
  key: { type: 'string', value: 'FILE', help: 'its key, if it is not in the --cert file' },
} as const

/** A request's URL. */
export interface Target {
  /** Without credentials and fragment. `http:` means h2c: HTTP/2 with prior knowledge (RFC 9113 §3.3). */
  readonly url: URL
  /** The value of `authorization` for the URL's credentials; null for none. */
  readonly authorization: string | null
  /** Whether the URL had no scheme. */
  readonly isSchemeAssumed: boolean
}

/** Options for `connect`, as a client accepts them. */
export interface TrustOptions {
  readonly ca?: string
  readonly cert?: string
  readonly key?: string
  readonly rejectUnauthorized?: false
}

const SCHEME = /^([a-z][a-z0-9+.-]*):\/\//i

/** RFC 9110 §5.5. In ISO-8859-1, as it is sent. */
const FIELD_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/

/**
 * The command line's URL: `https:`, `http:`, or without a scheme `https:`; with `--h2c` `http:`.
 *
 * @throws CliError if it isn't one, has another scheme, or is `https:` with `--h2c`
 */
export function toTarget(text: string, isH2c: boolean): Target {
  const [, scheme] = SCHEME.exec(text) ?? []
  const given = scheme === undefined ? `${isH2c ? 'http' : 'https'}://${text}` : text
  // 'https:///a' would have the host 'a'. And 'https:/a' isn't a path on the host 'https'.
  const isWithoutHost = text.startsWith('/') || (scheme === undefined && /^https?:(?!\d)/i.test(text))
  const url = URL.canParse(given) && !isWithoutHost ? new URL(given) : null
  const isHttp = url?.protocol === 'https:' || url?.protocol === 'http:'
  if (url === null || !isHttp) {
    // A password may contain a '/', which makes it an invalid URL.
    const shown = text.replace(/^([a-z][a-z0-9+.-]*:\/\/)?.*@/is, `$1${HIDDEN}@`)
    throw new CliError(`URL takes https://HOST/PATH, http:// or HOST[:PORT]/PATH, not '${shown}'`, EXIT.usage)
  }
  if (isH2c && url.protocol === 'https:') {
    const shown = hideUserInfo(text)
    throw new CliError(`--h2c is HTTP/2 without TLS: it takes an http: URL, not '${shown}'`, EXIT.usage)
  }
  const authorization = toAuthorization(url)
  url.username = ''
  url.password = ''
  url.hash = ''
  return { url, authorization, isSchemeAssumed: scheme === undefined }
}

/** RFC 7617 §2. */
function toAuthorization({ username, password }: URL): string | null {
  if (username === '' && password === '') return null
  const credentials = `${decode(username)}:${decode(password)}`
  return `Basic ${Buffer.from(credentials).toString('base64')}`
}

/** A `%` that doesn't begin an encoded octet stands for itself. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** @throws CliError if a method isn't a token (RFC 9110 §9.1), or is CONNECT, which opens a tunnel */
export function toMethod(text: string | undefined, hasBody: boolean): string {
  if (text === undefined) return hasBody ? 'POST' : 'GET'
  if (isToken(text) && text !== 'CONNECT') return text
  throw new CliError(
    `--request takes a method such as GET or POST, except CONNECT, not '${text}'`,
    EXIT.usage,
  )
}

/** @throws CliError for one that isn't `NAME: VALUE`. It doesn't show the value, which may be a secret. */
export function toFields(lines: readonly string[]): Field[] {
  return lines.map((line) => {
    const colon = line.indexOf(':')
    if (colon === -1) throw new CliError("--header takes 'NAME: VALUE', and one has no colon", EXIT.usage)
    const name = line.slice(0, colon).trim()
    if (!isToken(name)) {
      throw new CliError(`--header takes 'NAME: VALUE', and '${name}' isn't a field name`, EXIT.usage)
    }
    const value = line.slice(colon + 1).trim()
    if (FIELD_VALUE.test(value)) return [name, value]
    const accepted = 'a value without control characters or characters outside ISO-8859-1'
    throw new CliError(`--header '${name}' takes ${accepted}`, EXIT.usage)
  })
}

/** Whether one of them has this name. */
export function hasField(fields: readonly Field[], name: string): boolean {
  return fields.some(([given]) => given.toLowerCase() === name)
}

/**
 * The body for `--data`, as it is: `@FILE` is the file's content, `@-` the whole standard input.
 *
 * @throws CliError if the file can't be read
 */
export async function readData(text: string, input: () => AsyncIterable<Uint8Array>): Promise<Buffer> {
  if (!text.startsWith('@')) return Buffer.from(text)
  if (text === '@-') return readAll(input())
  return readOptionFile('--data', text.slice(1))
}

async function readAll(input: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const pieces: Uint8Array[] = []
  for await (const piece of input) pieces.push(piece)
  return Buffer.concat(pieces)
}

/**
 * How a client should trust the server, and identify itself.
 *
 * @throws CliError if a file can't be read, or contains no certificate or key
 */
export async function readTrust(options: {
  readonly insecure: boolean
  readonly ca: string | undefined
  readonly cert?: string | undefined
  readonly key?: string | undefined
}): Promise<TrustOptions> {
  const trust = {
    ...(options.insecure ? ({ rejectUnauthorized: false } as const) : {}),
    ...(await readIdentity(options)),
  }
  if (options.ca === undefined) return trust
  const ca = (await readOptionFile('--ca', options.ca)).toString('latin1')
  try {
    new X509Certificate(ca)
  } catch (error) {
    const message = `--ca takes a file with PEM certificates, and '${options.ca}' has none`
    throw new CliError(error instanceof Error ? `${message}: ${error.message}` : message, EXIT.usage)
  }
  return { ...trust, ca }
}

/** The client's certificate and key; without `--key`, the file for `--cert` contains both. */
async function readIdentity(options: {
  readonly cert?: string | undefined
  readonly key?: string | undefined
}): Promise<Pick<TrustOptions, 'cert' | 'key'>> {
  if (options.cert === undefined) {
    if (options.key === undefined) return {}
    throw new CliError('--key has no effect without --cert', EXIT.usage)
  }
  const cert = (await readOptionFile('--cert', options.cert)).toString('latin1')
  const key =
    options.key === undefined ? cert : (await readOptionFile('--key', options.key)).toString('latin1')
  try {
    createSecureContext({ cert, key })
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new CliError(
      `--cert and --key take a PEM certificate and its key without a passphrase: ${reason}`,
      EXIT.usage,
    )
  }
  return { cert, key }
}

/**
 * Reads an option's whole file.
 *
 * @throws CliError if it can't be read
 */
export async function readOptionFile(option: string, path: string): Promise<Buffer> {
  try {
    return await readFile(path)
  } catch (error) {
    if (!isSystemError(error)) throw error
    throw new CliError(`${option} can't read '${path}': ${error.message}`, EXIT.usage)
  }
}

/** An IPv6 host has brackets, as in a URL; its address may have them. */
const RESOLVE = /^(\[[^\]]+\]|[^:[\]]+):(\d{1,5}):(.+)$/

/**
 * The addresses for `--resolve`, by `HOST:PORT` as a URL writes it.
 *
 * @throws CliError
 */
export function toResolve(entries: readonly string[]): Map<string, readonly string[]> {
  const resolved = new Map<string, readonly string[]>()
  for (const entry of entries) {
    const [, host = '', port = '', list = ''] = RESOLVE.exec(entry) ?? []
    const addresses = list.split(',').map((address) => address.replace(/^\[(.+)\]$/, '$1'))
    if (!addresses.every((address) => isIP(address) !== 0)) {
      const accepted = 'HOST:PORT:ADDRESS with an IP address, or several separated by commas'
      throw new CliError(`--resolve takes ${accepted}, not '${entry}'`, EXIT.usage)
    }
    const url = `http://${host}`
    resolved.set(`${URL.canParse(url) ? new URL(url).hostname : host}:${Number(port)}`, addresses)
  }
  return resolved
}
