/**
 * The files of a folder: none of its dotfiles, and nothing that lies elsewhere.
 *
 * @module
 */

import type { Stats } from 'node:fs'
import { constants } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import { open, realpath, stat } from 'node:fs/promises'
import { extname, join, relative, sep } from 'node:path'
import { isSystemError } from '../certificates/cache-folder.ts'
import { toContentType } from './content-types.ts'
import type { Exchange, Fields, IncomingRequest } from './exchange.ts'
import { allow } from './exchange.ts'

/** How much of a file is read at once. */
const PIECE_SIZE = 65_536

/** A path of the file system that may be served. */
interface Found {
  readonly path: string
  readonly stats: Stats
}

/** Serves the files of one folder. */
export class Files {
  readonly #root: string

  /** @param root as `realpath()` has it */
  constructor(root: string) {
    this.#root = root
  }

  /** Responds with a file, or a redirect to a folder's address. @returns false when there is no such file */
  async serve(exchange: Exchange): Promise<boolean> {
    const segments = toSegments(exchange.path)
    if (segments === null) return false
    const found = await this.#find(segments)
    if (found === null) return false
    const isFolderAddress = exchange.path.endsWith('/')
    if (!found.stats.isDirectory()) {
      if (isFolderAddress) return false
      return this.#send(exchange, found)
    }
    const index = await this.#find([...segments, 'index.html'])
    if (index === null) return false
    if (isFolderAddress) return this.#send(exchange, index)
    // The links of its page are relative to the folder. The path has no empty segments: it is no `//host`.
    exchange.request.resume()
    exchange.sendText(308, `See ${exchange.path}/\n`, { location: `${exchange.path}/` })
    return true
  }

  /** Symbolic links may lead to what is in the folder, and is no dotfile. */
  async #find(segments: readonly string[]): Promise<Found | null> {
    try {
      const path = await realpath(join(this.#root, ...segments))
      const inside = relative(this.#root, path)
      if (inside.split(sep).some(isHidden)) return null
      // On Windows, that of another drive is absolute.
      if (join(this.#root, inside) !== path) return null
      return { path, stats: await stat(path) }
    } catch (error) {
      if (isMissing(error)) return null
      throw error
    }
  }

  async #send(exchange: Exchange, { path, stats }: Found): Promise<boolean> {
    // Neither a pipe, which would wait for its writer, nor a device.
    if (!stats.isFile()) return false
    exchange.request.resume()
    if (!allow(exchange, 'GET', 'HEAD')) return true
    const file = await openFile(path)
    if (file === null) return false
    try {
      await sendFile(exchange, file, path)
      return true
    } finally {
      await file.close()
    }
  }
}

/** `..` is one of them. */
function isHidden(segment: string): boolean {
  return segment.startsWith('.')
}

/** The names in a path, decoded once; null where one of them can't be a file that is served. */
export function toSegments(path: string): string[] | null {
  if (!path.startsWith('/')) return null
  const encoded = path.slice(1).split('/')
  if (encoded.at(-1) === '') encoded.pop()
  const segments: string[] = []
  for (const text of encoded) {
    const name = decode(text)
    // Separators, in whatever system, and zero. A colon is a drive or a stream of a file on Windows.
    if (name === null || name === '' || isHidden(name) || /[/\\\0]/.test(name)) return null
    if (process.platform === 'win32' && /[:]|[. ]$/.test(name)) return null
    segments.push(name)
  }
  return segments
}

function decode(text: string): string | null {
  try {
    return decodeURIComponent(text)
  } catch {
    return null
  }
}

async function openFile(path: string): Promise<FileHandle | null> {
  try {
    // The path has no links any more. One that was put there since is refused.
    return await open(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0))
  } catch (error) {
    if (isMissing(error)) return null
    throw error
  }
}

/** Out of file descriptors or memory: nothing is known of the file. */
const BUSY: ReadonlySet<string> = new Set(['EMFILE', 'ENFILE', 'ENOMEM', 'EAGAIN'])

/** Whether an error says that a file isn't there, or may not be read. */
function isMissing(error: unknown): boolean {
  return isSystemError(error) && !isBusy(error)
}

/** Whether the system has no room for the moment: the same request may be served later. */
export function isBusy(error: unknown): boolean {
  return isSystemError(error) && BUSY.has(error.code)
}

async function sendFile(exchange: Exchange, file: FileHandle, path: string): Promise<void> {
  const stats = await file.stat()
  const etag = `"${stats.size.toString(16)}-${Math.floor(stats.mtimeMs).toString(16)}"`
  const fields: Fields = {
    etag,
    'last-modified': stats.mtime.toUTCString(),
    // Kept, but asked for each time: files change while they are worked on.
    'cache-control': 'no-cache',
    'accept-ranges': 'bytes',
  }
  const { headers } = exchange.request
  if (isKnown(headers, etag, stats.mtime)) {
    exchange.sendText(304, '', fields)
    return
  }
  const ifRange = headers['if-range']
  // RFC 9110 §13.1.5: an entity tag, or the very date.
  const isWhole = ifRange !== undefined && ifRange !== etag && ifRange !== stats.mtime.toUTCString()
  const range = isWhole || exchange.method !== 'GET' ? null : toRange(headers.range, stats.size)
  if (range === 'unsatisfiable') {
    exchange.sendText(416, 'There are no such bytes.\n', { 'content-range': `bytes */${stats.size}` })
    return
  }
  const { start, end } = range ?? { start: 0, end: stats.size }
  const partial = range === null ? {} : { 'content-range': `bytes ${start}-${end - 1}/${stats.size}` }
  exchange.respond(range === null ? 200 : 206, {
    'content-type': toContentType(extname(path)),
    'content-length': end - start,
    ...fields,
    ...partial,
  })
  if (exchange.method !== 'HEAD') await copy(exchange, file, start, end)
  exchange.end()
}

/** Whether the client has this file. RFC 9110 §13.2.2: a date counts where there is no entity tag. */
function isKnown(headers: IncomingRequest['headers'], etag: string, modified: Date): boolean {
  const since = headers['if-modified-since']
  if (headers['if-none-match'] !== undefined || since === undefined) {
    return isListed(headers['if-none-match'], etag)
  }
  // A date has whole seconds.
  return Math.floor(modified.getTime() / 1_000) * 1_000 <= Date.parse(String(since))
}

/** RFC 9110 §13.1.2. */
function isListed(field: string | string[] | undefined, etag: string): boolean {
  if (field === undefined) return false
  const tags = String(field).split(',')
  return tags.some((tag) => ['*', etag].includes(tag.trim().replace(/^W\//, '')))
}

/** Part of a body: `end` is the first byte behind it. */
interface Range {
  readonly start: number
  readonly end: number
}

/** RFC 9110 §14.1.2: one range. Of anything else all bytes are sent, which is always allowed. */
export function toRange(field: string | string[] | undefined, size: number): Range | 'unsatisfiable' | null {
  const [, first, last] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(String(field ?? '')) ?? []
  if (first === undefined || last === undefined || (first === '' && last === '')) return null
  // The last so many bytes.
  if (first === '') {
    const length = Math.min(Number(last), size)
    return length === 0 ? 'unsatisfiable' : { start: size - length, end: size }
  }
  const start = Number(first)
  const end = last === '' ? size : Math.min(Number(last) + 1, size)
  if (last !== '' && Number(last) < start) return null
  return start < size ? { start, end } : 'unsatisfiable'
}

/** A file that became shorter meanwhile breaks the response off: its length was promised. */
async function copy(exchange: Exchange, file: FileHandle, start: number, end: number): Promise<void> {
  let position = start
  while (position < end && !exchange.isOver) {
    // Each piece has memory of its own: the response may still hold the last one.
    const piece = Buffer.allocUnsafe(Math.min(PIECE_SIZE, end - position))
    const { bytesRead } = await file.read(piece, 0, piece.length, position)
    if (bytesRead === 0) throw new Error('the file became shorter while it was read')
    await exchange.write(piece.subarray(0, bytesRead))
    position += bytesRead
  }
}
