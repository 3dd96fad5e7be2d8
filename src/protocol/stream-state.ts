/**
 * The states of a stream that a client has opened (RFC 9113 §5.1).
 *
 * @module
 */

/**
 * ```
 *                 open ──local end──▶ half-closed (local) ──remote end, reset──▶ closed
 * idle ──open──▶   │                                                              ▲
 *                  ├──remote end──▶ half-closed (remote) ──local end, reset────────┤
 *                  └──reset───────────────────────────────────────────────────────┘
 * ```
 *
 * The reserved states are those of pushed streams, of which a client without push has none.
 */
export type StreamState = 'idle' | 'open' | 'half-closed (local)' | 'half-closed (remote)' | 'closed'

/** END_STREAM was sent. */
export function afterLocalEnd(state: StreamState): StreamState {
  return state === 'open' ? 'half-closed (local)' : 'closed'
}

/** END_STREAM has arrived. */
export function afterRemoteEnd(state: StreamState): StreamState {
  return state === 'open' ? 'half-closed (remote)' : 'closed'
}

/** Whether we may still send HEADERS and DATA. */
export function canSend(state: StreamState): boolean {
  return state === 'open' || state === 'half-closed (remote)'
}

/** Whether the peer may still send HEADERS and DATA. */
export function canReceive(state: StreamState): boolean {
  return state === 'open' || state === 'half-closed (local)'
}
