import type { ServerHttp2Stream } from 'node:http2'
import type { CallLimits } from '../../types/index.ts'
import type { Api, End, Thrower } from './apis.ts'
import type { BodyKind, Extent } from './bodies.ts'
import type { Case } from './case.ts'

/** What becomes of a call. */
export interface Outcome {
  readonly name: string
  /** @default 'whole' */
  readonly extent?: Extent
  /** Where the call is, before any stream. */
  readonly stage?: 'queued' | 'connecting'
  /** What dies with it, or before it. */
  readonly death?: 'session' | 'client'
  readonly limits?: CallLimits
  readonly throwsIn?: Thrower
  /** What the body's own code does. */
  readonly onPull?: 'abort' | 'throw'
  /** What the server does with each attempt. */
  serve(stream: ServerHttp2Stream, running: Case): void
  /** What happens else. */
  drive?(running: Case): Promise<void>
  /** How often the server may be asked. @default 1 */
  readonly attempts?: number
  readonly end: End | ((kind: BodyKind) => End)
  /** The whole response, where there is one. */
  readonly text?: string
  readonly trailers?: object
  /** A code, the reason of the abort, or what was thrown. */
  readonly error?: string
  /** What is thrown has nobody to hear it but the process. */
  readonly isUncaught?: boolean
  /** Why it makes no sense there; null where it does. */
  leftOut?(api: Api, kind: BodyKind): string | null
}

/** Leaves an outcome out of `connect()` and `upgrade()`. */
export function notForTunnels(reason: string): (api: Api) => string | null {
  return (api) => (api.kind === 'tunnel' ? reason : null)
}
