/**
 * The document that `--json` prints. docs/cli.md describes it.
 *
 * @module
 */

import type { Field } from '../../protocol/inspect/field-blocks.ts'
import type { FrameDetails, SettingsByName } from '../../protocol/inspect/frame-details.ts'
import type { SecretFilter } from '../../protocol/inspect/secrets.ts'
import type { DialFacts } from './dial.ts'
import type { Failure } from './failure.ts'
import type { Http2Facts, Windows } from './http2-facts.ts'
import type { Plan } from './plan.ts'
import type { Times } from './report.ts'

/** The document's version. Adding a field doesn't change it. */
export const SCHEMA = 1

/** The response, as far as it arrived. */
export interface ResponseFacts {
  readonly status: number
  readonly headers: readonly Field[]
  /** The trailer section's fields; empty without one. */
  trailers: readonly Field[]
  /** The body's size in bytes. */
  bytes: number
  /** Null if the body went elsewhere, or isn't text. */
  text: string | null
  isTruncated: boolean
}

/** Everything that is known at the end of a call. */
export interface Outcome {
  readonly plan: Plan
  readonly dial: DialFacts
  readonly http2: Http2Facts
  /** Null if none arrived. */
  readonly response: ResponseFacts | null
  readonly times: Times
  /** With `--verbose`; null without. */
  readonly frames: readonly FrameDetails[] | null
  /** Null if there was none. */
  readonly failure: Failure | null
  readonly exitCode: number
}

interface Http2Document {
  readonly settings: { readonly server: SettingsByName | null; readonly client: SettingsByName | null }
  readonly windows: { readonly server: Windows; readonly client: Windows }
  readonly limits: Http2Facts['limits']
  readonly roundTripMs: number | null
}

/** Creates the document. The filter removes secrets. */
export function toDocument(outcome: Outcome, secrets: SecretFilter): object {
  const { plan, dial, exitCode, failure, frames, http2, response, times } = outcome
  const { certificate, dns, proxy, tcp, tls, unix } = dial
  return {
    schema: SCHEMA,
    url: secrets.toShownText(plan.target.url.href),
    engine: plan.engine,
    exitCode,
    redirects: plan.redirects.map(({ status, url }) => ({ status, url: secrets.toShownText(url) })),
    connection: { dns, tcp, unix, proxy, tls, certificate },
    http2: toHttp2(http2),
    request: { method: plan.method, headers: toRequestFields(plan, http2, secrets) },
    response: response === null ? null : toResponse(response, secrets),
    times: { firstByteMs: times.firstByte, totalMs: times.total },
    error: failure === null ? null : toError(failure, secrets),
    ...(frames === null ? {} : { frames }),
  }
}

/** Null if no frame was sent. */
function toHttp2(facts: Http2Facts): Http2Document | null {
  if (facts.clientSettings === null) return null
  return {
    settings: { server: facts.serverSettings, client: facts.clientSettings },
    windows: { server: facts.serverWindows, client: facts.clientWindows },
    limits: facts.limits,
    roundTripMs: facts.roundTrip,
  }
}

/** As they were sent; before that, as they would be sent. */
function toRequestFields(
  { fields }: Plan,
  { requestFields }: Http2Facts,
  secrets: SecretFilter,
): readonly Field[] {
  return secrets.toShownFields(requestFields ?? fields)
}

function toResponse(response: ResponseFacts, secrets: SecretFilter): object {
  const { bytes, headers, isTruncated, status, text, trailers } = response
  return {
    status,
    headers: secrets.toShownFields(headers),
    trailers: secrets.toShownFields(trailers),
    body: { bytes, text, isTruncated },
  }
}

function toError({ code, goaway, hint, message, processed }: Failure, secrets: SecretFilter): object {
  const goawayDebugData = goaway === null ? null : secrets.toShownText(goaway)
  return { code, message: secrets.toShownText(message), hint, processed, goawayDebugData }
}
