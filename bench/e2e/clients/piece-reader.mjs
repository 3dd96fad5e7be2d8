import { Readable } from 'node:stream'

/** @typedef {Readable | Buffer | null} Body */

/** As much as a stream of a file reads at once. */
const PIECE = 65_536

/** Reads a Buffer in pieces, as a stream of a file gives them: one for each call, never in the same tick. */
export class PieceReader extends Readable {
  #body
  #at = 0

  /** @param {Buffer} body */
  constructor(body) {
    super({ highWaterMark: PIECE })
    this.#body = body
  }

  /** @override */
  _read() {
    const piece = this.#body.subarray(this.#at, this.#at + PIECE)
    this.#at += piece.length
    process.nextTick(() => this.push(piece.length === 0 ? null : piece))
  }
}

/**
 * The body of one request.
 *
 * @param {Pick<import('./index.mjs').Target, 'body' | 'isStreamed'>} target
 * @returns {Body}
 */
export function toBody({ body, isStreamed }) {
  return body !== null && isStreamed ? new PieceReader(body) : body
}
