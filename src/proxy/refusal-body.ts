/**
 * The body of an HTTP/1.1 refusal (RFC 9112 §6.3): with a length, in chunks, or up to the end of the connection.
 *
 * @module
 */

const CHUNK_HEADER = /^([\da-f]{1,8})[^\r\n]*\r\n/i
const EMPTY: Buffer = Buffer.alloc(0)

function toField(raw: readonly string[], name: string): string | undefined {
  const index = raw.findIndex((entry, place) => place % 2 === 0 && entry.toLowerCase() === name)
  return index === -1 ? undefined : raw[index + 1]
}

/** Removes the body's framing. The body is for people to read: malformed framing ends it. */
export class RefusalBody {
  /** How many bytes of the body, or of the chunk, are still to come; Infinity for a body without a length. */
  #left: number
  readonly #isChunked: boolean
  /** The part of a chunk's header that has arrived. */
  #pending = EMPTY
  #isWhole: boolean

  /** @param raw the response's fields: names and values in turn */
  constructor(raw: readonly string[]) {
    this.#isChunked = /(^|[ ,])chunked$/i.test(toField(raw, 'transfer-encoding') ?? '')
    const length = toField(raw, 'content-length')
    this.#left = this.#isChunked
      ? 0
      : length !== undefined && /^\d+$/.test(length)
        ? Number(length)
        : Infinity
    this.#isWhole = !this.#isChunked && this.#left === 0
  }

  get isWhole(): boolean {
    return this.#isWhole
  }

  /** @returns the part of the body in these bytes */
  receive(chunk: Buffer): Buffer {
    if (!this.#isChunked) return this.#take(chunk)
    const pieces: Buffer[] = []
    let rest = this.#pending.length === 0 ? chunk : Buffer.concat([this.#pending, chunk])
    this.#pending = EMPTY
    while (rest.length > 0 && !this.#isWhole) {
      if (this.#left > 0) {
        const piece = rest.subarray(0, this.#left)
        this.#left -= piece.length
        rest = rest.subarray(piece.length)
        pieces.push(piece)
      } else {
        rest = this.#readHeader(rest)
      }
    }
    return Buffer.concat(pieces)
  }

  /** @returns what follows the header of a chunk */
  #readHeader(rest: Buffer): Buffer {
    const text = rest.toString('latin1', 0, 256).replace(/^\r\n/, '')
    const skipped = Math.min(rest.length, 256) - text.length
    const [header, size] = CHUNK_HEADER.exec(text) ?? []
    if (header === undefined || size === undefined) {
      this.#isWhole = rest.length >= 256
      this.#pending = Buffer.from(rest)
      return EMPTY
    }
    this.#left = Number.parseInt(size, 16)
    this.#isWhole = this.#left === 0
    return rest.subarray(skipped + header.length)
  }

  #take(chunk: Buffer): Buffer {
    const piece = chunk.length > this.#left ? chunk.subarray(0, this.#left) : chunk
    this.#left -= piece.length
    this.#isWhole = this.#left === 0
    return piece
  }
}
