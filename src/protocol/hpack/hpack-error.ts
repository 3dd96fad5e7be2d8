/**
 * The error for a field block that can't be decoded.
 *
 * @module
 */

/**
 * A field block that violates RFC 7541: the message says what is wrong, and names the section.
 *
 * From then on, the two compression contexts differ, so it is a connection error of type COMPRESSION_ERROR (RFC 9113
 * §4.3). The decoder that threw it can't be used any more.
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
