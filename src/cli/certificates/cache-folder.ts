/**
 * Where a user's programs keep what they can recreate, and how files are written there.
 *
 * @module
 */

import { randomBytes } from 'node:crypto'
import type { Stats } from 'node:fs'
import { link, mkdir, open, readFile, rename, rm, stat } from 'node:fs/promises'
import { homedir } from 'node:os'
import { isAbsolute, join } from 'node:path'
import { CliError, EXIT } from '../cli-error.ts'

/** Only the owner may read and write the file. */
const PRIVATE_FILE = 0o600
const PRIVATE_FOLDER = 0o700

/** What others may do with a file or folder: read it, and change it. */
const READABLE_BY_OTHERS = 0o077
const WRITABLE_BY_OTHERS = 0o022

/** Dodici's folder in the user's cache folder. `XDG_CACHE_HOME` counts on every system, if it is an absolute path. */
export function toCacheFolder(env: NodeJS.ProcessEnv, platform: NodeJS.Platform = process.platform): string {
  const { XDG_CACHE_HOME: chosen = '', LOCALAPPDATA: local = '' } = env
  // The XDG specification says to ignore a relative path.
  if (isAbsolute(chosen)) return join(chosen, 'dodici')
  if (platform === 'win32' && local !== '') return join(local, 'dodici', 'Cache')
  if (platform === 'darwin') return join(homedir(), 'Library', 'Caches', 'dodici')
  return join(homedir(), '.cache', 'dodici')
}

/** Creates the folder, for the user alone. Refuses one in which other users could replace files. */
export async function prepareFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: PRIVATE_FOLDER })
  requireOwn(folder, await stat(folder), WRITABLE_BY_OTHERS, 'changed')
}

/** Reads a file with a secret as text; null if there is none. Refuses one that other users can read. */
export function readSecret(path: string): Promise<string | null> {
  return readOwn(path, READABLE_BY_OTHERS, 'read')
}

/** Reads a file that others may read as text; null if there is none. Refuses one that other users can change. */
export function readPublic(path: string): Promise<string | null> {
  return readOwn(path, WRITABLE_BY_OTHERS, 'changed')
}

async function readOwn(path: string, others: number, done: string): Promise<string | null> {
  try {
    requireOwn(path, await stat(path), others, done)
    return await readFile(path, 'utf8')
  } catch (error) {
    if (isMissing(error)) return null
    throw error
  }
}

function requireOwn(path: string, stats: Stats, others: number, done: string): void {
  // Windows has other permissions: a user's folders belong to that user.
  if (process.getuid === undefined) return
  if (stats.uid !== process.getuid()) {
    throw new CliError(`${path} belongs to another user: remove it, or set XDG_CACHE_HOME`, EXIT.failure)
  }
  if ((stats.mode & others) === 0) return
  const mode = (stats.mode & 0o777).toString(8)
  const what = `${path} can be ${done} by other users (its mode is ${mode})`
  throw new CliError(`${what}: remove it, and Dodici creates it again`, EXIT.failure)
}

/** Writes a file atomically: a reader finds either the old or the new text, even after a crash. */
export async function replaceFile(path: string, text: string): Promise<void> {
  await withDraft(path, text, (draft) => rename(draft, path))
}

/**
 * Writes a file atomically, unless there already is one. If two processes do so, one of them writes it.
 *
 * @returns false if there already was one
 */
export async function createFile(path: string, text: string): Promise<boolean> {
  try {
    // Unlike rename(), link() doesn't replace a file.
    await withDraft(path, text, (draft) => link(draft, path))
    return true
  } catch (error) {
    if (isSystemError(error) && error.code === 'EEXIST') return false
    throw error
  }
}

async function withDraft(path: string, text: string, use: (draft: string) => Promise<void>): Promise<void> {
  const draft = `${path}.${randomBytes(6).toString('hex')}`
  try {
    const file = await open(draft, 'wx', PRIVATE_FILE)
    try {
      await file.writeFile(text)
      await file.sync()
    } finally {
      await file.close()
    }
    await use(draft)
  } finally {
    await rm(draft, { force: true })
  }
}

function isMissing(error: unknown): boolean {
  return isSystemError(error) && error.code === 'ENOENT'
}

/** Whether it is an error from the file system, or from a socket. */
export function isSystemError(error: unknown): error is NodeJS.ErrnoException & { readonly code: string } {
  return error instanceof Error && 'code' in error && typeof error.code === 'string'
}
