/**
 * What a handler must have.
 *
 * @module
 */

import type { DispatchHandler } from '../../types/handler.ts'
import type { DispatchOptions } from '../../types/request.ts'
import { invalid } from '../core/validate.ts'
import { NotSupportedError } from '../errors.ts'

/**
 * Checks that a handler can hear what a call has to say.
 *
 * @throws InvalidArgumentError that names the method that is missing.
 */
export function checkHandler(handler: unknown): asserts handler is DispatchHandler {
  if (typeof handler !== 'object' || handler === null) throw invalid('handler', handler, 'an object')
  if ('onConnect' in handler && !('onRequestStart' in handler)) {
    throw new NotSupportedError(
      "Handlers of undici 6's and 7's shape (onConnect, onHeaders, …) are not supported yet",
    )
  }
  for (const name of HANDLER_METHODS) {
    const method: unknown = Reflect.get(handler, name)
    if (typeof method !== 'function') throw invalid(`handler.${name}`, method, 'a function')
  }
}

const HANDLER_METHODS = [
  'onRequestStart',
  'onResponseStart',
  'onResponseData',
  'onResponseEnd',
  'onResponseError',
] as const

/**
 * Checks that a handler can take a tunnel, where one is asked for.
 *
 * @throws InvalidArgumentError
 */
export function checkTunnelHandler({ method, upgrade }: DispatchOptions, handler: DispatchHandler): void {
  if (method !== 'CONNECT' && (upgrade === undefined || upgrade === null || upgrade === false)) return
  if (typeof handler.onRequestUpgrade === 'function') return
  throw invalid(
    'handler.onRequestUpgrade',
    handler.onRequestUpgrade,
    'a function, since a tunnel is asked for',
  )
}
