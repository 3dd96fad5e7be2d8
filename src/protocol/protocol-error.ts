/**
 * What a peer can do that ends its connection.
 *
 * @module
 */

import { ErrorCode } from '../core/error-codes.ts'

/** A connection error (RFC 9113 §5.4.1): the peer hears the code by GOAWAY, and the connection is closed. */
export class ConnectionFault extends Error {
  /** RFC 9113 §7. */
  readonly code: number

  /** @param message what the peer did, as a sentence, with the section that it breaks */
  constructor(code: number, message: string) {
    super(message)
    this.name = 'ConnectionFault'
    this.code = code
  }
}

/** @throws ConnectionFault of type PROTOCOL_ERROR, always */
export function protocolError(message: string): never {
  throw new ConnectionFault(ErrorCode.PROTOCOL_ERROR, message)
}

/** @throws ConnectionFault of type FRAME_SIZE_ERROR, always */
export function badSize(message: string): never {
  throw new ConnectionFault(ErrorCode.FRAME_SIZE_ERROR, message)
}

/** @throws ConnectionFault of type ENHANCE_YOUR_CALM, always */
export function flood(message: string): never {
  throw new ConnectionFault(ErrorCode.ENHANCE_YOUR_CALM, message)
}
