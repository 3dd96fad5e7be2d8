/**
 * A folder's files, except dotfiles and anything that lies elsewhere.
 *
 * @module
 */

import type { Stats } from 'node:fs'
import { constants } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import { open, realpath, stat } from 'node:fs/promises'
import { extname, join, relative, sep } from 'node:path'
import { isSystemError } from '../certificates/cache-folder.ts'
import type { Coding } from './content-codings.ts'
import { CODINGS, toAccepted } from './content-codings.ts'
import { toContentType } from './content-types.ts'
import type { Exchange, Fields } from './exchange.ts'
import { allow } from './exchange.ts'
import { toCondition, toPart } from './preconditions.ts'

/** How much of a file is read at once. */
const PIECE_SIZE = 65_536

/** What is sent depends on what the client accepts. */
const VARY: Fields = { vary: 'accept-encoding' }

/** A path in the file system that may be served. */
interface Found {
  readonly path: string
  readonly stats: Stats
}

/** Serves one folder's files. */
export class Files {
  readonly #root: string

  /** @param root as `realpath()` returns it */
  constructor(root: string) {
    this.#root = root
  }

  /**
   * Responds with a file, or a redirect to a folder's address.
   *
   * @returns false if there is no such file
   */
  async serve(exchange: Exchange): Promise<boolean> {
    const segments = toSegments(exchange.path)
    if (segments === null) return false
    const found = await this.#find(segments)
    if (found === null) return false
    const isFolderAddress = exchange.path.endsWith('/')
    if (!found.stats.isDirectory()) {
      if (isFolderAddress) return false
      return this.#send(exchange, segments, found)
    }
    const ofIndex = [...segments, 'index.html']
    const index = await this.#find(ofIndex)
    if (index === null) return false
    if (isFolderAddress) return this.#send(exchange, ofIndex, index)
    // Links on its page are relative to the folder. The path has no empty segments, so it isn't `//host`.
    exchange.request.resume()
    exchange.sendText(308, `See ${exchange.path}/\n`, { location: `${exchange.path}/` })
    return true
  }

  /** Symbolic links may lead to files in the folder that aren't dotfiles. */
  async #find(segments: readonly string[]): Promise<Found | null> {
    try {
      const path = await realpath(join(this.#root, ...segments))
      const inside = relative(this.#root, path)
      if (inside.split(sep).some(isHidden)) return null
      // On Windows, a path on another drive is absolute.
      if (join(this.#root, inside) !== path) return null
      return { path, stats: await stat(path) }
    } catch (error) {
      if (isMissing(error)) return null
      throw error
    }
  }

  async #send(exchange: Exchange, segments: readonly string[], found: Found): Promise<boolean> {
    // Not a pipe, which would wait for its writer, and not a device.
    if (!found.stats.isFile()) return false
    exchange.request.resume()
    if (!allow(exchange, 'GET', 'HEAD')) return true
    const copies = await this.#findCopies(segments, found.stats)
    const accepted = toAccepted(toText(exchange.request.headers['accept-encoding']), [...copies.keys()])
    if (accepted.length === 0) {
      exchange.sendText(
        406,
        'Accept the file unencoded, or in one of its encodings.\n',
        copies.size > 0 ? VARY : {},
      )
      return true
    }
    const type = toContentType(extname(found.path))
    for (const coding of accepted) {
      // A copy that no longer exists must not prevent the file from being served.
      const file = await openFile((coding === null ? undefined : copies.get(coding)) ?? found.path)
      if (file === null) continue
      try {
        await sendFile(exchange, { file, type, coding, hasCopies: copies.size > 0 })
        return true
      } finally {
        await file.close()
      }
    }
    return false
  }

  /** The paths of its precompressed copies. A copy that is older than the file is out of date. */
  async #findCopies(segments: readonly string[], { mtimeMs }: Stats): Promise<Map<Coding, string>> {
    const copies = new Map<Coding, string>()
    for (const coding of CODINGS) {
      const found = await this.#find([...segments.slice(0, -1), `${segments.at(-1)}${coding.extension}`])
      if (found?.stats.isFile() && found.stats.mtimeMs >= mtimeMs) copies.set(coding, found.path)
    }
    return copies
  }
}

function toText(field: string | string[] | undefined): string | undefined {
  return Array.isArray(field) ? field.join(',') : field
}

/** `..` is one of them. */
function isHidden(segment: string): boolean {
  return segment.startsWith('.')
}

/** The names in a path, decoded once; null if one of them can't be a file that is served. */
export function toSegments(path: string): string[] | null {
  if (!path.startsWith('/')) return null
  const encoded = path.slice(1).split('/')
  if (encoded.at(-1) === '') encoded.pop()
  const segments: string[] = []
  for (const text of encoded) {
    const name = decode(text)
    // Separators, on any system, and zero. On Windows, a colon marks a drive or a file's stream.
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

/** Out of file descriptors or memory: that says nothing about the file. */
const BUSY: ReadonlySet<string> = new Set(['EMFILE', 'ENFILE', 'ENOMEM', 'EAGAIN'])

/** Whether an error says that a file isn't there, or may not be read. */
function isMissing(error: unknown): boolean {
  return isSystemError(error) && !isBusy(error)
}

/** Whether the system has no resources at the moment: the same request may be served later. */
export function isBusy(error: unknown): boolean {
  return isSystemError(error) && BUSY.has(error.code)
}

/** An open file, and its description. */
interface Selected {
  readonly file: FileHandle
  /** The type of the file itself, even if a copy is sent. */
  readonly type: string
  /** The copy's coding; null for the file itself. */
  readonly coding: Coding | null
  /** Whether there are copies, so that what is sent depends on `accept-encoding`. */
  readonly hasCopies: boolean
}

async function sendFile(exchange: Exchange, { file, type, coding, hasCopies }: Selected): Promise<void> {
  const { size, mtime: modified, mtimeMs } = await file.stat()
  // A copy is another representation, so its tag must differ.
  const suffix = coding === null ? '' : `-${coding.name}`
  const etag = `"${size.toString(16)}-${Math.floor(mtimeMs).toString(16)}${suffix}"`
  const fields: Fields = {
    etag,
    'last-modified': modified.toUTCString(),
    // Cached, but revalidated each time, because files change while someone works on them.
    'cache-control': 'no-cache',
    'accept-ranges': 'bytes',
    ...(hasCopies ? VARY : {}),
  }
  const { headers } = exchange.request
  const validators = { etag, modified }
  const condition = toCondition(headers, validators)
  if (condition !== null) {
    exchange.sendText(condition, condition === 304 ? '' : 'The file has changed.\n', fields)
    return
  }
  const range = exchange.method === 'GET' ? toPart(headers, validators, size) : null
  if (range === 'none') {
    const missing = { ...fields, 'content-range': `bytes */${size}` }
    exchange.sendText(416, 'The file does not have these bytes.\n', missing)
    return
  }
  const { start, end } = range ?? { start: 0, end: size }
  exchange.respond(range === null ? 200 : 206, {
    'content-type': type,
    'content-length': end - start,
    ...fields,
    ...(coding === null ? {} : { 'content-encoding': coding.name }),
    ...(range === null ? {} : { 'content-range': `bytes ${start}-${end - 1}/${size}` }),
  })
  if (exchange.method !== 'HEAD') await copy(exchange, file, start, end)
  exchange.end()
}

/** If a file became shorter meanwhile, the response is aborted, because its length was promised. */
async function copy(exchange: Exchange, file: FileHandle, start: number, end: number): Promise<void> {
  let position = start
  while (position < end && !exchange.isOver) {
    // Each piece has its own memory: the response may still hold the last one.
    const piece = Buffer.allocUnsafe(Math.min(PIECE_SIZE, end - position))
    const { bytesRead } = await file.read(piece, 0, piece.length, position)
    if (bytesRead === 0) throw new Error('the file was truncated while being read')
    await exchange.write(piece.subarray(0, bytesRead))
    position += bytesRead
  }
}
