/**
 * What a header block that can't be decoded ends in.
 *
 * @module
 */

/**
 * A header block that breaks RFC 7541: the message says what is wrong, and names the section.
 *
 * The two compression contexts have gone apart by then, so that it is a connection error of type COMPRESSION_ERROR
 * (RFC 9113 §4.3), and the decoder that threw it is of no use any more.
 */
export class HpackError extends Error {
  static {
    Object.defineProperty(HpackError.prototype, 'name', {
      value: 'HpackError',
      enumerable: false,
      configurable: true,
      writable: true,
    })
  }
}
