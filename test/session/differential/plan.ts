/** What happens in one scene of the differential test: all of it is decided before anything is played. */

import type { SettingsEntry } from '../../../src/testing/frames.ts'
import type { Field } from '../../../src/testing/hpack.ts'

/** A frame of the peer's on a stream whose id isn't known yet. */
export type PeerFrame =
  | {
      readonly type: 'header'
      /** `:status` first, but in trailers. */
      readonly fields: readonly Field[]
      readonly isEnd: boolean
      /** Octets of padding; null for a frame without the flag. */
      readonly padding: number | null
      /** In how many frames the block comes: HEADERS and CONTINUATIONs. */
      readonly parts: number
    }
  | {
      readonly type: 'data'
      readonly bytes: Buffer
      readonly isEnd: boolean
      readonly padding: number | null
    }
  | { readonly type: 'reset'; readonly code: number }

/** What a call sends as its body. `steps` is a Readable that the scene itself pushes to. */
export type BodyKind =
  | 'none'
  | 'text'
  | 'bytes'
  | 'readable'
  | 'generator'
  | 'web'
  | 'blob'
  | 'form'
  | 'factory'
  | 'steps'

/** When a handler does something of its own accord. */
export type Moment = 'start' | 'info' | 'response' | 'data' | 'end' | 'upgrade'

export interface CallPlan {
  readonly method: string
  readonly headers: readonly Field[]
  readonly body: BodyKind
  /** In pieces, where the kind has any. */
  readonly pieces: readonly Buffer[]
  /** Whether the request says how long that is. */
  readonly hasLength: boolean
  readonly trailers: readonly Field[]
  readonly expectContinue: boolean
  /** Null for a plain exchange. */
  readonly tunnel: 'connect' | 'websocket' | null
  /** What the handler does, at the first such moment. Null for nothing. */
  readonly act: { readonly at: Moment; readonly does: 'throw' | 'abort' | 'pause' } | null
}

export type ClientVerb =
  | 'abort'
  | 'pause'
  | 'resume'
  | 'push'
  | 'endBody'
  | 'breakBody'
  | 'writeTunnel'
  | 'endTunnel'
  | 'destroyTunnel'

/** One step. A step that is glued to the next one is sent together with it, before the client has seen it. */
export type Step =
  | { readonly do: 'dispatch'; readonly call: number }
  /** Until the peer has all of the request, or the call is over. */
  | { readonly do: 'complete'; readonly call: number }
  | {
      readonly do: 'frames'
      readonly call: number
      readonly frames: readonly PeerFrame[]
      readonly isGlued: boolean
    }
  | { readonly do: 'client'; readonly call: number; readonly verb: ClientVerb; readonly bytes: Buffer }
  | { readonly do: 'settings'; readonly entries: readonly SettingsEntry[] }
  /** `last`: the call whose stream is the last that is processed; null for all, -1 for none. */
  | { readonly do: 'goaway'; readonly last: number | null; readonly code: number; readonly isGlued: boolean }
  | { readonly do: 'loss'; readonly how: 'end' | 'break'; readonly isGlued: boolean }

export interface Plan {
  readonly seed: number
  readonly calls: readonly CallPlan[]
  /** The peer's first SETTINGS. */
  readonly settings: readonly SettingsEntry[]
  readonly steps: readonly Step[]
}
