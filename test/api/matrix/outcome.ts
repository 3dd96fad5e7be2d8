import type { ServerHttp2Stream } from 'node:http2'
import type { CallLimits } from '../../../types/index.ts'
import type { Api, End, Thrower } from './apis.ts'
import type { BodyKind, Extent } from './bodies.ts'
import type { Case } from './case.ts'

/** How a call goes and ends. */
export interface Outcome {
  readonly name: string
  /** @default 'whole' */
  readonly extent?: Extent
  /** Where the call is, before any stream. */
  readonly stage?: 'queued' | 'connecting'
  /** What is destroyed with the call, or before it. */
  readonly death?: 'session' | 'client'
  readonly limits?: CallLimits
  readonly throwsIn?: Thrower
  /** What the body's own code does. */
  readonly onPull?: 'abort' | 'throw'
  /** What the server does with each attempt. */
  serve(stream: ServerHttp2Stream, running: Case): void
  /** What happens else. */
  drive?(running: Case): Promise<void>
  /** How many requests the server may get. @default 1 */
  readonly attempts?: number
  readonly end: End | ((kind: BodyKind) => End)
  /** The whole response, if there is one. */
  readonly text?: string
  readonly trailers?: object
  /** A code, the reason of the abort, or the exception. */
  readonly error?: string
  /** The exception is uncaught: only the process can report it. */
  readonly isUncaught?: boolean
  /** Why the outcome is left out there; null if it isn't. */
  leftOut?(api: Api, kind: BodyKind): string | null
}

/** Leaves an outcome out of `connect()` and `upgrade()`. */
export function notForTunnels(reason: string): (api: Api) => string | null {
  return (api) => (api.kind === 'tunnel' ? reason : null)
}
