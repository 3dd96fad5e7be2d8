/**
 * The limits for what a WebSocket or an EventSource may receive: undici's, or those built into Node. They read the
 * limits from their dispatcher.
 *
 * @module
 */

import { constants } from 'node:buffer'
import type { ClientOptions, EventSourceOptions, WebSocketOptions } from '../../types/client.ts'
import { invalidKind, toInteger } from '../core/validate.ts'

/** The options, checked and complete. */
export interface ReceiveLimits {
  readonly webSocket: Limits<WebSocketOptions>
  readonly eventSource: Limits<EventSourceOptions>
}

type Limits<TOptions> = { readonly [TName in keyof TOptions]-?: number }

/** The defaults, as in undici. */
export const DEFAULT_RECEIVE_LIMITS: ReceiveLimits = Object.freeze({
  webSocket: Object.freeze({ maxFragments: 131_072, maxPayloadSize: 134_217_728 }),
  eventSource: Object.freeze({ maxEventSize: constants.MAX_STRING_LENGTH }),
})

/**
 * Checks and completes the options.
 *
 * @throws InvalidArgumentError that names the option, its value, and what would be accepted
 */
export function toReceiveLimits({
  webSocket,
  eventSource,
}: Pick<ClientOptions, 'webSocket' | 'eventSource'>): ReceiveLimits {
  const { maxFragments, maxPayloadSize } = toObject('webSocket', webSocket)
  const { maxEventSize } = toObject('eventSource', eventSource)
  const defaults = { ...DEFAULT_RECEIVE_LIMITS.webSocket, ...DEFAULT_RECEIVE_LIMITS.eventSource }
  return Object.freeze({
    webSocket: Object.freeze({
      maxFragments: toMost('webSocket.maxFragments', maxFragments, defaults.maxFragments, 'fragments'),
      maxPayloadSize: toMost('webSocket.maxPayloadSize', maxPayloadSize, defaults.maxPayloadSize, 'bytes'),
    }),
    eventSource: Object.freeze({
      maxEventSize: toMost('eventSource.maxEventSize', maxEventSize, defaults.maxEventSize, 'bytes'),
    }),
  })
}

/** @returns 0 for no limit */
function toMost(name: string, value: unknown, fallback: number, unit: string): number {
  if (value === Number.POSITIVE_INFINITY) return 0
  return toInteger(name, value, fallback, 0, Number.MAX_SAFE_INTEGER, unit)
}

function toObject<TOptions extends object>(
  name: string,
  value: TOptions | null | undefined,
): Partial<TOptions> {
  if (value === undefined || value === null) return {}
  if (typeof value !== 'object' || Array.isArray(value)) throw invalidKind(name, value, 'an object')
  return value
}
