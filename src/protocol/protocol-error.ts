/**
 * Connection errors: the faults of a peer that end its connection.
 *
 * @module
 */

import { ErrorCode } from '../errors/error-codes.ts'
import { PeerFault } from '../errors/peer-fault.ts'

/** A connection error (RFC 9113 §5.4.1): GOAWAY with the code is sent to the peer, and the connection is closed. */
export class ConnectionFault extends PeerFault {
  /** RFC 9113 §7. */
  readonly code: number

  /** @param message a sentence that says what the peer did, with the section of the RFC that it violates */
  constructor(code: number, message: string) {
    super(message)
    this.name = 'ConnectionFault'
    this.code = code
  }
}

/** A peer's first bytes aren't those of HTTP/2: a connection error of type PROTOCOL_ERROR (RFC 9113 §3.4). */
export class ForeignPeerFault extends ConnectionFault {
  /** The protocol that they look like; null if none is recognised. */
  readonly protocol: 'HTTP/1.1' | 'TLS' | null

  constructor(protocol: ForeignPeerFault['protocol']) {
    const found = protocol === null ? 'without SETTINGS' : `with ${protocol}`
    super(ErrorCode.PROTOCOL_ERROR, `The peer began ${found} (RFC 9113 §3.4)`)
    this.protocol = protocol
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
