/**
 * The error of a field block that can't be decoded.
 *
 * @module
 */

/**
 * A field block that breaks RFC 7541: the message says what is wrong, and names the section.
 *
 * The two compression contexts differ from then on, so that it is a connection error of type COMPRESSION_ERROR (RFC
 * 9113 §4.3). The decoder that threw it can't be used any more.
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
