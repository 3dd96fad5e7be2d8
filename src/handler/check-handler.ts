/**
 * Checks the methods of handlers.
 *
 * @module
 */

import type { AnyDispatchHandler, DispatchHandler } from '../../types/handler.ts'
import type { DispatchOptions } from '../../types/request.ts'
import { invalid } from '../core/validate.ts'
import { toError } from '../errors/errors.ts'
import { isLegacyHandler } from './legacy-handler.ts'
import { RefusedController } from './refused-controller.ts'

/**
 * Checks that a handler of either shape has all required methods.
 *
 * @throws InvalidArgumentError that names the missing method
 */
export function checkHandler(options: unknown, handler: unknown): asserts handler is AnyDispatchHandler {
  if (typeof handler !== 'object' || handler === null) throw invalid('handler', handler, 'an object')
  // The usual case: a property read by name is faster than one by a list of names.
  if (isWhole(handler)) return
  for (const name of OPTIONAL_METHODS) {
    const method: unknown = Reflect.get(handler, name)
    if (method !== undefined && typeof method !== 'function')
      throw invalid(`handler.${name}`, method, 'a function, or undefined')
  }
  const isTunnel = typeof options === 'object' && options !== null && asksForTunnel(options)
  for (const name of toMethods(handler, isTunnel)) {
    const method: unknown = Reflect.get(handler, name)
    if (typeof method !== 'function') throw invalid(`handler.${name}`, method, 'a function')
  }
}

function isWhole(handler: DispatchHandler): boolean {
  return (
    typeof handler.onRequestStart === 'function' &&
    typeof handler.onResponseStart === 'function' &&
    typeof handler.onResponseData === 'function' &&
    typeof handler.onResponseEnd === 'function' &&
    typeof handler.onResponseError === 'function' &&
    isOptional(handler.onBodySent) &&
    isOptional(handler.onRequestSent)
  )
}

function isOptional(method: unknown): boolean {
  return method === undefined || typeof method === 'function'
}

/**
 * Whether a handler of either shape has all required methods. If not, it gets an error, as in undici.
 *
 * @throws InvalidArgumentError if it has no method for errors
 */
export function isFit(options: unknown, handler: unknown): handler is AnyDispatchHandler {
  try {
    checkHandler(options, handler)
    return true
  } catch (thrown) {
    tell(handler, toError(thrown))
    return false
  }
}

function tell(handler: unknown, error: Error): void {
  if (typeof handler !== 'object' || handler === null) throw error
  const { onResponseError, onError }: { onResponseError?: unknown; onError?: unknown } = handler
  if (typeof onResponseError === 'function')
    Reflect.apply(onResponseError, handler, [new RefusedController(error), error])
  else if (typeof onError === 'function') Reflect.apply(onError, handler, [error])
  else throw error
}

const OPTIONAL_METHODS = ['onBodySent', 'onRequestSent']

const METHODS = ['onRequestStart', 'onResponseStart', 'onResponseData', 'onResponseEnd', 'onResponseError']
const LEGACY_METHODS = ['onConnect', 'onHeaders', 'onData', 'onComplete', 'onError']
/** undici's own tunnel handlers have only these. */
const TUNNEL_METHODS = ['onRequestStart', 'onResponseStart', 'onResponseError']
const LEGACY_TUNNEL_METHODS = ['onConnect', 'onHeaders', 'onError']

function toMethods(handler: object, isTunnel: boolean): readonly string[] {
  // For a handler with methods of neither shape, the error names one of ours.
  const isLegacy = isLegacyHandler(handler) && LEGACY_METHODS.some((name) => name in handler)
  if (isTunnel) return isLegacy ? LEGACY_TUNNEL_METHODS : TUNNEL_METHODS
  return isLegacy ? LEGACY_METHODS : METHODS
}

function asksForTunnel({ method, upgrade }: Partial<DispatchOptions>): boolean {
  return method === 'CONNECT' || (upgrade !== undefined && upgrade !== null && upgrade !== false)
}

/**
 * Checks that a handler can accept a tunnel, if the request asks for one.
 *
 * @throws InvalidArgumentError
 */
export function checkTunnelHandler(options: DispatchOptions, handler: AnyDispatchHandler): void {
  if (!asksForTunnel(options) || hasMethod(handler, 'onRequestUpgrade')) return
  const isLegacy = isLegacyHandler(handler)
  if (isLegacy && hasMethod(handler, 'onUpgrade')) return
  const name = isLegacy ? 'onUpgrade' : 'onRequestUpgrade'
  const accepted = 'a function, since a tunnel is asked for'
  throw invalid(`handler.${name}`, Reflect.get(handler, name), accepted)
}

function hasMethod(handler: object, name: string): boolean {
  return typeof Reflect.get(handler, name) === 'function'
}
