/**
 * The request body: `--data`, `--form` or `--upload`.
 *
 * @module
 */

import { File } from 'node:buffer'
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { basename, extname } from 'node:path'
import type { RequestBody } from '../../../types/body.ts'
import { isSystemError } from '../certificates/cache-folder.ts'
import { CliError, EXIT } from '../cli-error.ts'
import { readData, readOptionFile } from '../request-options.ts'
import { toContentType } from '../serve/content-types.ts'

/** What is sent. */
export interface Upload {
  /** Null for none. A stream isn't opened until it is read. */
  readonly body: RequestBody | null
  /** In bytes; null for an unknown size, and for none. */
  readonly size: number | null
  /** Null if the body brings its own, or has none. */
  readonly contentType: string | null
  /** Whether it can be sent a second time. */
  readonly isReplayable: boolean
  /** How many bytes of a stream were read so far. */
  readonly sent: { bytes: number }
}

interface UploadOptions {
  /** The data, joined with `&`; null for none. */
  readonly data: Buffer | null
  readonly form: readonly string[]
  readonly upload: string | undefined
}

/** No body. */
export const NO_UPLOAD = { body: null, size: null, contentType: null, isReplayable: true } as const

/** Options that provide a part of the data. They are joined in the order of the command line, as in curl. */
export const DATA_OPTIONS = ['data', 'data-raw', 'data-urlencode'] as const

const AMPERSAND = Buffer.from('&')

const FORM_URLENCODED = 'application/x-www-form-urlencoded'

/**
 * The data from all options, joined with `&`.
 *
 * @param given options and their values, in their order
 * @returns null if none of them provides data
 * @throws CliError if a file can't be read
 */
export async function readAllData(
  given: readonly (readonly [name: string, value: string])[],
  input: () => AsyncIterable<Uint8Array>,
): Promise<Buffer | null> {
  const parts: Buffer[] = []
  for (const [name, value] of given) {
    if (!DATA_OPTIONS.some((option) => option === name)) continue
    if (parts.length > 0) parts.push(AMPERSAND)
    if (name === 'data-raw') parts.push(Buffer.from(value))
    else parts.push(await (name === 'data' ? readData(value, input) : readEncoded(value, input)))
  }
  return parts.length === 0 ? null : Buffer.concat(parts)
}

/**
 * `CONTENT`, `=CONTENT`, `NAME=CONTENT`, `@FILE` or `NAME@FILE`: the content is percent-encoded, but the name isn't.
 */
async function readEncoded(text: string, input: () => AsyncIterable<Uint8Array>): Promise<Buffer> {
  const [, name = '', separator = '', rest = text] = /^([^=@]*)([=@])(.*)$/s.exec(text) ?? []
  const content = separator === '@' ? await readData(`@${rest}`, input) : Buffer.from(rest)
  // RFC 3986 §2.3: all octets except the unreserved ones.
  const encoded = content.toString('latin1').replace(/[^A-Za-z0-9._~-]/g, (octet) => {
    return `%${octet.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`
  })
  return Buffer.from(name === '' ? encoded : `${name}=${encoded}`)
}

/**
 * Reads what must be known before the request is sent.
 *
 * @throws CliError if two of the options are given, or a file can't be read
 */
export async function readUpload(
  { data, form, upload }: UploadOptions,
  input: () => AsyncIterable<Uint8Array>,
): Promise<Upload> {
  const given = [data !== null, form.length > 0, upload !== undefined].filter(Boolean)
  if (given.length > 1) {
    throw new CliError("a request has one body: --data, --form and --upload can't be combined", EXIT.usage)
  }
  const sent = { bytes: 0 }
  if (data !== null)
    return { body: data, size: data.length, contentType: FORM_URLENCODED, isReplayable: true, sent }
  if (form.length > 0)
    return { body: await toForm(form), size: null, contentType: null, isReplayable: true, sent }
  if (upload === undefined) return { ...NO_UPLOAD, sent }
  if (upload === '-')
    return { body: count(input(), sent), size: null, contentType: null, isReplayable: false, sent }
  const size = await toFileSize(upload)
  const contentType = toContentType(extname(upload))
  return { body: count(createReadStream(upload), sent), size, contentType, isReplayable: false, sent }
}

async function* count(
  source: AsyncIterable<Uint8Array>,
  sent: { bytes: number },
): AsyncGenerator<Uint8Array> {
  try {
    for await (const piece of source) {
      sent.bytes += piece.length
      yield piece
    }
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new CliError(`--upload can't be read to its end: ${reason}`, EXIT.failure)
  }
}

/** Null for anything without a size: a pipe, a device. */
async function toFileSize(path: string): Promise<number | null> {
  try {
    const found = await stat(path)
    if (found.isDirectory()) throw new CliError(`--upload can't send '${path}': it is a folder`, EXIT.usage)
    return found.isFile() ? found.size : null
  } catch (error) {
    if (!isSystemError(error)) throw error
    throw new CliError(`--upload can't read '${path}': ${error.message}`, EXIT.usage)
  }
}

/** RFC 7578. Files are read completely. */
async function toForm(entries: readonly string[]): Promise<FormData> {
  const form = new FormData()
  for (const entry of entries) {
    const at = entry.indexOf('=')
    if (at < 1) {
      throw new CliError("--form takes NAME=VALUE or NAME=@FILE, and one has no '=' or no name", EXIT.usage)
    }
    const [name, value] = [entry.slice(0, at), entry.slice(at + 1)]
    if (!value.startsWith('@')) {
      form.append(name, value)
      continue
    }
    const path = value.slice(1)
    const bytes = await readOptionFile('--form', path)
    form.append(
      name,
      new File([new Uint8Array(bytes)], basename(path), { type: toContentType(extname(path)) }),
    )
  }
  return form
}
