/** What is said between a client in a process of its own and the server of pieces, `piece-peer.ts`. */

import { Client } from '../../../src/index.ts'
import type { ClientOptions } from '../../../types/index.ts'

/** What is kept may be as many times the bytes that have come, */
export const MOST_TIMES = 3
/** and this for each stream. Bytes. */
export const STREAM_SHARE = 65_536

/** The response that a request gets. */
export interface PiecePlan {
  /** What `/sent` finds it by. */
  readonly key: string
  /** Bytes of each DATA frame. */
  readonly size: number
  /** Bytes of the whole body, as it is once decoded. */
  readonly total: number
  /** Bytes of the frame of an unknown type behind each DATA frame; 0: there is none. */
  readonly junk: number
  /** Whether it has an end. */
  readonly ends?: boolean
  readonly status?: number
  readonly encoding?: 'gzip'
  /** After as many DATA frames the peer waits until the client has heard them. */
  readonly portion?: number
}

/** A request that asks for it. */
export interface PieceRequest {
  readonly path: string
  readonly method: 'GET'
  readonly headers: { readonly 'x-plan': string }
}

export function toRequest(plan: PiecePlan): PieceRequest {
  return { path: '/', method: 'GET', headers: { 'x-plan': JSON.stringify(plan) } }
}

export function toClient(origin: string, engine: string): Client {
  return new Client(origin, {
    engine: engine as NonNullable<ClientOptions['engine']>,
    // What a collection finds unread is aborted after some time without any byte.
    bodyTimeout: 0,
    connect: { rejectUnauthorized: false },
  })
}

/**
 * Bytes that the peer has sent of a key, once it can send no more, and all of them have come.
 *
 * @param mayBeNone false: the request is on its way, so that there will be some
 */
export async function toSent(client: Client, key: string, mayBeNone = false): Promise<number> {
  for (let before = mayBeNone ? -1 : 0; ; ) {
    const headers = { 'x-key': key }
    const { headers: fields, body } = await client.request({ path: '/sent', method: 'GET', headers })
    await body.text()
    const sent = Number(fields['x-sent'])
    if (sent === before && (mayBeNone || sent > 0)) return sent
    before = sent
  }
}
