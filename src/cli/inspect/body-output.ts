/**
 * Where the body of the response goes.
 *
 * @module
 */

import type { FileHandle } from 'node:fs/promises'
import { open } from 'node:fs/promises'
import { isSystemError } from '../certificates/cache-folder.ts'
import { CliError, EXIT } from '../cli-error.ts'
import type { Terminal } from '../terminal.ts'

/** Takes a body. */
export interface BodyOutput {
  /** @returns false when no more is wanted @throws CliError when it can't be written */
  write(piece: Buffer): Promise<boolean>
  /** Called once, whatever has happened. */
  end(): Promise<void>
}

/** A zero byte so early says that a body is binary, as curl has it. Bytes. */
const LOOKED_AT = 2_000

/** The most that `--json` shows of a body. Bytes. */
export const MAX_JSON_BODY = 65_536

/** The standard output. */
export class TerminalOutput implements BodyOutput {
  readonly #terminal: Terminal
  readonly #refusesBinary: boolean
  #looked = 0
  /** The last byte. */
  #last: number | null = null

  /** @param refusesBinary on a terminal, which binary data can disturb */
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

  /** The report goes on in a line of its own. */
  async end(): Promise<void> {
    const isOpenLine = this.#last !== null && this.#last !== 0x0a
    if (isOpenLine && this.#terminal.isOutputTerminal && this.#terminal.isErrorTerminal)
      this.#terminal.draw('\n')
  }
}

/** A file. It is made, or emptied, when the body begins. */
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

/** For `--json`: the text of the body, up to {@link MAX_JSON_BODY}. */
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

  /** Null when it isn't UTF-8, or has a zero byte. The last character of one that was cut may be missing. */
  get text(): string | null {
    const bytes = Buffer.concat(this.#pieces)
    if (bytes.includes(0)) return null
    try {
      // With `stream`, an incomplete character at the end is no error.
      return new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: this.isTruncated })
    } catch {
      return null
    }
  }
}
