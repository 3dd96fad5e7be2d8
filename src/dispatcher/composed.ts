/**
 * What `compose()` returns: the dispatcher itself, except for its `dispatch()`.
 *
 * @module
 */

import type { Dispatch, Dispatcher } from '../../types/dispatcher.ts'
import { isMarked } from '../core/class-mark.ts'

/**
 * Methods that end the dispatcher itself, even if the caller's subclass overrides them: their private fields are on
 * it.
 */
const ENDS: ReadonlySet<string | symbol> = new Set(['close', 'destroy'])

/**
 * Whether a method is called on the dispatcher itself: the methods of Dodici's classes use private fields, which a
 * Proxy doesn't have. Others, such as `request()` and methods of a caller's subclass, are called on the result of
 * `compose()`, so their requests pass through the interceptors.
 *
 * @param base the prototype of all dispatchers, whose methods need no private field
 */
function isOfItself(target: object, base: object, key: string | symbol): boolean {
  if (key === 'constructor') return false
  if (ENDS.has(key)) return true
  let isOurs = false
  for (let at: object | null = target; at !== null && at !== base; at = Object.getPrototypeOf(at)) {
    // The parents of one of our classes are ours, too.
    isOurs ||= isMarked(at)
    if (isOurs && Object.hasOwn(at, key)) return true
  }
  return false
}

/**
 * Creates a Proxy, as undici does. It is an instance of the dispatcher's class and has all of its members, even those
 * from a subclass. Getters and setters see the dispatcher itself.
 */
export function toComposed<TDispatcher extends Dispatcher>(
  inner: TDispatcher,
  base: object,
  dispatch: Dispatch,
): TDispatcher {
  return new Proxy(inner, new Composition(base, dispatch))
}

type Method = (...args: unknown[]) => unknown

class Composition<TDispatcher extends Dispatcher> implements ProxyHandler<TDispatcher> {
  /**
   * Its own `dispatch()`. The caller may replace it, for example in tests: the dispatcher itself keeps the original
   * one.
   */
  readonly #dispatch: PropertyDescriptor
  /** Keyed by the method: reading a member always returns the same function. */
  readonly #bound = new Map<unknown, Method>()

  /** Cached results of {@link isOfItself}. */
  readonly #isOfItself = new Map<string | symbol, boolean>()
  readonly #base: object

  constructor(base: object, dispatch: Dispatch) {
    this.#base = base
    this.#dispatch = { value: dispatch, writable: true, enumerable: false, configurable: true }
  }

  get(target: TDispatcher, key: string | symbol): unknown {
    if (key === 'dispatch') return this.#dispatch.value
    const value: unknown = Reflect.get(target, key, target)
    return typeof value === 'function' && this.#asks(target, key) ? this.#bind(target, value) : value
  }

  #asks(target: TDispatcher, key: string | symbol): boolean {
    let answer = this.#isOfItself.get(key)
    if (answer === undefined) {
      answer = isOfItself(target, this.#base, key)
      this.#isOfItself.set(key, answer)
    }
    return answer
  }

  set(target: TDispatcher, key: string | symbol, value: unknown): boolean {
    if (key !== 'dispatch') return Reflect.set(target, key, value, target)
    this.#dispatch.value = value
    return true
  }

  defineProperty(target: TDispatcher, key: string | symbol, descriptor: PropertyDescriptor): boolean {
    if (key !== 'dispatch') return Reflect.defineProperty(target, key, descriptor)
    this.#dispatch.value = descriptor.value ?? descriptor.get?.()
    return true
  }

  getOwnPropertyDescriptor(target: TDispatcher, key: string | symbol): PropertyDescriptor | undefined {
    return key === 'dispatch' ? { ...this.#dispatch } : Reflect.getOwnPropertyDescriptor(target, key)
  }

  #bind(target: TDispatcher, method: unknown): Method {
    const known = this.#bound.get(method)
    if (known !== undefined) return known
    const bound: Method = (method as Method).bind(target)
    this.#bound.set(method, bound)
    return bound
  }
}
