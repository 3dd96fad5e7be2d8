/**
 * A Readable that becomes one on first use.
 *
 * @module
 */

import { EventEmitter } from 'node:events'
import { Readable } from 'node:stream'
import { inspect } from 'node:util'

/** Node sets `usingDomains` once `node:domain` is loaded. */
const emitters: typeof EventEmitter & { readonly usingDomains?: boolean } = EventEmitter

/** In bytes. */
const SIZE_FOR_PROXY = 65_536

/**
 * Inherits from Readable, and is one for everything that checks: `instanceof`, Node's stream functions, and
 * Readable's methods called with it as `this`. But Readable's constructor, which allocates about 500 bytes, runs only
 * when something from Readable or EventEmitter is first used: most bodies are read with `text()` or a similar method,
 * without a stream.
 *
 * Everything in a Readable is reached through `_readableState`, `_events` or `_maxListeners`. In Node these are own
 * properties. Here they are accessors on the prototype, until the first use of one turns all of them into properties.
 *
 * The difference from a Readable: before its first use, it has no own properties that `Object.keys()` would list.
 */
export class LazyReadable extends Readable {
  readonly #highWaterMark: number
  #isStream = false

  /** @param highWaterMark in bytes */
  constructor(highWaterMark: number) {
    // Blank, below, and not Readable.
    super()
    this.#highWaterMark = highWaterMark
    // A domain takes emitters as they are made.
    if (emitters.usingDomains === true) this.#becomeStream()
  }

  /** Whether Readable's constructor has run. Until then, nothing has listened to it, read it, or destroyed it. */
  protected get isStream(): boolean {
    return this.#isStream
  }

  /** The first value of `readableHighWaterMark`, in bytes. */
  protected get firstHighWaterMark(): number {
    return this.#highWaterMark
  }

  get _readableState(): unknown {
    return LazyReadable.#open(this)?._readableState
  }

  set _readableState(value: unknown) {
    LazyReadable.#assign(this, '_readableState', value)
  }

  get _events(): unknown {
    return LazyReadable.#open(this)?._events
  }

  set _events(value: unknown) {
    LazyReadable.#assign(this, '_events', value)
  }

  get _maxListeners(): unknown {
    return LazyReadable.#open(this)?._maxListeners
  }

  set _maxListeners(value: unknown) {
    LazyReadable.#assign(this, '_maxListeners', value)
  }

  /** Shows what a Readable shows. */
  [inspect.custom](): this {
    LazyReadable.#open(this)
    return this
  }

  /** Where the properties of a Readable are: in `lazy` itself, which gets them now; null for a prototype. */
  static #open(lazy: LazyReadable): LazyReadable | null {
    if (#isStream in lazy) {
      if (!lazy.#isStream) lazy.#becomeStream()
      return lazy
    }
    // EventEmitter's constructor reads `_events` of the prototype, too.
    if (Object.hasOwn(lazy, 'constructor')) return null
    // A Proxy of an unused one: a Readable that was just made has the same state.
    const other = new LazyReadable(SIZE_FOR_PROXY)
    other.#becomeStream()
    return other
  }

  static #assign(lazy: LazyReadable, name: string, value: unknown): void {
    LazyReadable.#open(lazy)
    Object.defineProperty(lazy, name, { value, writable: true, enumerable: true, configurable: true })
  }

  #becomeStream(): void {
    this.#isStream = true
    new StreamProperties(this)
    Readable.call(this, { highWaterMark: this.#highWaterMark })
  }
}

/** Its constructor creates nothing: subclasses add their fields to the object that it is given. */
class Given {
  constructor(given: object) {
    // biome-ignore lint/correctness/noConstructorReturn: so fields are defined in it, past accessors of its prototype
    return given
  }
}

/**
 * Defines the properties of a Readable in an object, in the order in which Readable's constructor creates them. Three
 * calls of `Object.defineProperty()` would take half a microsecond.
 */
class StreamProperties extends Given {
  readonly _events = undefined
  readonly _readableState = undefined
  readonly _maxListeners = undefined
}

/** Creates an object with the prototype of the class that is being constructed, and nothing else. */
class Blank {}

// `super()` calls what a class inherits from at that time. Instances still inherit from `Readable.prototype`.
Object.setPrototypeOf(LazyReadable, Blank)
Object.setPrototypeOf(Blank, Readable)
