/**
 * Converts a FormData to multipart/form-data.
 *
 * @module
 */

import type { BlobLike, FormDataLike } from '../../types/body.ts'
import { loadCrypto } from '../core/builtin.ts'
import { invalid } from '../core/validate.ts'

/** An encoded form, which can be sent any number of times. */
export interface Multipart {
  readonly contentType: string
  /** The length of all parts together, in bytes. */
  readonly length: number
  readonly parts: readonly (Uint8Array | BlobLike)[]
}

/** Whether a value has the members of a Blob that are used. */
export function isBlobLike(value: unknown): value is BlobLike {
  if (typeof value !== 'object' || value === null) return false
  return (
    'stream' in value &&
    typeof value.stream === 'function' &&
    'size' in value &&
    typeof value.size === 'number' &&
    'type' in value &&
    typeof value.type === 'string'
  )
}

/** HTML, "multipart/form-data encoding algorithm": escapes characters that could end the quoted name. */
function escapeName(name: string): string {
  return name.replace(/\n/g, '%0A').replace(/\r/g, '%0D').replace(/"/g, '%22')
}

/** HTML, the same algorithm: a line break in a name or a value is CRLF. */
function toCrlf(text: string): string {
  return text.replace(/\r\n?|\n/g, '\r\n')
}

function toFileName(file: BlobLike): string {
  return 'name' in file && typeof file.name === 'string' ? file.name : 'blob'
}

/**
 * The global Blob checks its type. Without a check, the type of another package's Blob could begin a header or a
 * part.
 */
function toFileType(name: string, { type }: BlobLike): string {
  if (/[^\x20-\x7e]/.test(type)) {
    throw invalid(
      `type of FormData entry ${JSON.stringify(name)}`,
      type,
      'visible ASCII characters and spaces',
    )
  }
  return type === '' ? 'application/octet-stream' : type
}

/**
 * Encodes a form. Its files are read when it is sent, not now.
 *
 * @throws InvalidArgumentError for an entry that is neither a string nor a file
 * @see https://html.spec.whatwg.org/multipage/form-control-infrastructure.html#multipart-form-data
 */
export function toMultipart(form: FormDataLike): Multipart {
  const boundary = `----formdata-dodici-${loadCrypto().randomBytes(12).toString('hex')}`
  const parts: (Uint8Array | BlobLike)[] = []
  let text = ''
  let length = 0
  const flush = (): void => {
    const bytes = Buffer.from(text)
    length += bytes.length
    parts.push(bytes)
    text = ''
  }
  for (const [name, value] of form.entries()) {
    text += `--${boundary}\r\nContent-Disposition: form-data; name="${escapeName(toCrlf(name))}"`
    if (typeof value === 'string') {
      text += `\r\n\r\n${toCrlf(value)}\r\n`
    } else if (isBlobLike(value)) {
      text += `; filename="${escapeName(toFileName(value))}"\r\n`
      text += `Content-Type: ${toFileType(name, value)}\r\n\r\n`
      flush()
      parts.push(value)
      length += value.size
      text += '\r\n'
    } else {
      throw invalid(`FormData entry ${JSON.stringify(name)}`, value, 'a string or a Blob')
    }
  }
  text += `--${boundary}--\r\n`
  flush()
  return { contentType: `multipart/form-data; boundary=${boundary}`, length, parts }
}
