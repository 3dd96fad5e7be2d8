/**
 * Where the response body goes.
 *
 * @module
 */

import type { FileHandle } from 'node:fs/promises'
import { open } from 'node:fs/promises'
import { isSystemError } from '../certificates/cache-folder.ts'
import { CliError, EXIT } from '../cli-error.ts'
import type { Terminal } from '../terminal.ts'

/** Accepts a body. */
export interface BodyOutput {
  /**
   * @returns false if no more is wanted
   * @throws CliError if it can't be written
   */
  write(piece: Buffer): Promise<boolean>
  /** Called once, whatever has happened. */
  end(): Promise<void>
}

/** Within how many bytes a zero byte means that a body is binary, as in curl. */
const LOOKED_AT = 2_000

/** How many bytes of a body `--json` shows at most. */
export const MAX_JSON_BODY = 65_536

/** The standard output. */
export class TerminalOutput implements BodyOutput {
  readonly #terminal: Terminal
  readonly #refusesBinary: boolean
  #looked = 0
  /** The last byte. */
  #last: number | null = null

  /** @param refusesBinary whether to refuse binary data, which can disturb a terminal */
  constructor(terminal: Terminal, refusesBinary: boolean) {
    this.#terminal = terminal
    this.#refusesBinary = refusesBinary && terminal.isOutputTerminal
  }

  async write(piece: Buffer): Promise<boolean> {
    if (this.#refusesBinary && this.#looked < LOOKED_AT) {
      if (piece.subarray(0, LOOKED_AT - this.#looked).includes(0)) {
        const message = 'the body is binary: use -o FILE to save it, or -o - to print it to the terminal'
        throw new CliError(message, EXIT.failure)
      }
      this.#looked += piece.length
    }
    this.#last = piece.at(-1) ?? this.#last
    return this.#terminal.writeBytes(piece)
  }

  /** The report continues on a separate line. */
  async end(): Promise<void> {
    const isOpenLine = this.#last !== null && this.#last !== 0x0a
    if (isOpenLine && this.#terminal.isOutputTerminal && this.#terminal.isErrorTerminal)
      this.#terminal.draw('\n')
  }
}

/** A file. It is created, or emptied, when the body begins. */
export class FileOutput implements BodyOutput {
  readonly #path: string
  readonly #file: FileHandle

  private constructor(path: string, file: FileHandle) {
    this.#path = path
    this.#file = file
  }

  /** @throws CliError */
  static async open(path: string): Promise<FileOutput> {
    try {
      return new FileOutput(path, await open(path, 'w'))
    } catch (error) {
      throw toOutputError(path, error)
    }
  }

  async write(piece: Buffer): Promise<boolean> {
    try {
      await this.#file.writeFile(piece)
      return true
    } catch (error) {
      throw toOutputError(this.#path, error)
    }
  }

  async end(): Promise<void> {
    try {
      await this.#file.close()
    } catch (error) {
      throw toOutputError(this.#path, error)
    }
  }
}

function toOutputError(path: string, error: unknown): unknown {
  if (!isSystemError(error)) return error
  return new CliError(`--output can't write '${path}': ${error.message}`, EXIT.write)
}

/** For `--json`: the body's text, up to {@link MAX_JSON_BODY}. */
export class TextOutput implements BodyOutput {
  #pieces: Buffer[] = []
  #size = 0
  isTruncated = false

  async write(piece: Buffer): Promise<boolean> {
    const room = MAX_JSON_BODY - this.#size
    const kept = piece.subarray(0, room)
    this.isTruncated ||= kept.length < piece.length
    this.#size += kept.length
    if (kept.length > 0) this.#pieces.push(Buffer.from(kept))
    return true
  }

  async end(): Promise<void> {}

  /** Null if it isn't UTF-8, or contains a zero byte. If it was cut off, its last character may be missing. */
  get text(): string | null {
    const bytes = Buffer.concat(this.#pieces)
    if (bytes.includes(0)) return null
    try {
      // With `stream`, an incomplete character at the end isn't an error.
      return new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: this.isTruncated })
    } catch {
      return null
    }
  }
}
