/**
 * What a peer did wrong, as the protocol says it.
 *
 * @module
 */

/** Never thrown to a caller: the session makes a DodiciError of it, whose `cause` it is. */
export class PeerFault extends Error {}
