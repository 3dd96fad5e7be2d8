/**
 * What a peer did wrong, in the protocol's terms.
 *
 * @module
 */

/** Never thrown to a caller: the session turns it into a DodiciError, with this as its `cause`. */
export class PeerFault extends Error {}
