/**
 * The dispatcher that is built into Node, and the two places where fetch looks for one.
 *
 * @module
 */

import type { FallbackDispatcher } from '../../../types/client.ts'

/**
 * The two symbols of the global dispatcher. Node's own undici and every copy from npm agree on them. `legacy` is read
 * by undici 6 and 7 (Node 20, 22 and 24), `native` by undici 8 (Node 26).
 */
export const SLOTS = Object.freeze({
  legacy: Symbol.for('undici.globalDispatcher.1'),
  native: Symbol.for('undici.globalDispatcher.2'),
})

/** The class of the last Agent that was seen in the slots; null before the first. */
let lastSeen: BuiltinAgentClass | null = null

/** The part of undici's Agent that Dodici needs. */
export interface BuiltinAgent extends FallbackDispatcher {
  on(event: 'connect', listener: (origin: URL, targets: readonly object[]) => void): unknown
  on(
    event: 'disconnect' | 'connectionError',
    listener: (origin: URL, targets: readonly object[], error: Error) => void,
  ): unknown
  destroy(error: Error | null): Promise<void>
}

/** The class of an undici Agent. */
export type BuiltinAgentClass = new (options: object) => BuiltinAgent

/**
 * What tells undici's Agent from other dispatchers: it can be made anew from options alone, and reaches any origin
 * without a proxy. Classes have other names once a bundler has renamed or minified them. The descriptions of symbols
 * stay.
 */
const TRAITS = {
  /** Each Agent has these properties. */
  own: ['options', 'factory', 'clients'],
  /** A Pool of any kind, which has those as well, has these. */
  ofPools: ['queue', 'url'],
  /** The class of an Agent has these methods. A caller's class that extends it doesn't. */
  ofClass: ['running', 'dispatch', 'close', 'destroy'],
} as const

/** The global dispatchers in both slots; undefined for an empty slot. */
export function readSlots(): { legacy: unknown; native: unknown } {
  return { legacy: Reflect.get(globalThis, SLOTS.legacy), native: Reflect.get(globalThis, SLOTS.native) }
}

/** Makes Node load its own undici, which then fills empty slots. Reading `fetch` wouldn't load it. */
export function loadBuiltin(): void {
  Reflect.get(globalThis, 'Headers')
}

/** The class of the Agent in the slots now; null for none. It is kept: later another dispatcher may be there. */
export function peekBuiltinClass(): BuiltinAgentClass | null {
  const { legacy, native } = readSlots()
  const present = toAgentClass(native) ?? toAgentClass(legacy)
  lastSeen = present ?? lastSeen
  return present
}

/**
 * The class of Node's own Agent. If Node hasn't loaded its undici yet and a foreign dispatcher is in the slots, that
 * one is taken out while Node loads its undici, and put back afterwards.
 *
 * @returns null when Node has loaded its undici after the slot was filled: then Node has never made an Agent
 */
export function findBuiltinClass(): BuiltinAgentClass | null {
  const kept = readInstallation()?.agentClass ?? null
  const present = kept ?? peekBuiltinClass() ?? lastSeen
  if (present !== null) return present
  const { legacy, native } = readSlots()
  if (legacy !== undefined) Reflect.set(globalThis, SLOTS.legacy, undefined)
  if (native !== undefined) Reflect.set(globalThis, SLOTS.native, undefined)
  try {
    loadBuiltin()
    return peekBuiltinClass()
  } finally {
    if (legacy !== undefined) Reflect.set(globalThis, SLOTS.legacy, legacy)
    if (native !== undefined) Reflect.set(globalThis, SLOTS.native, native)
  }
}

/** The dispatcher that `install()` has put into the slots, and the dispatchers that were there before. */
export interface Installation {
  readonly dispatcher: FallbackDispatcher
  /** Undefined when the slot was empty. */
  readonly legacy: unknown
  readonly native: unknown
  /** The class of Node's own Agent; null when it wasn't found. */
  readonly agentClass: BuiltinAgentClass | null
}

/** The ESM and the CJS copy of this package in one process share one installation. */
const INSTALLATION = Symbol.for('dodici.installation.1')

/** Undefined while nothing is installed. */
export function readInstallation(): Installation | undefined {
  return Reflect.get(globalThis, INSTALLATION)
}

/** @param installation undefined: nothing is installed any more */
export function writeInstallation(installation: Installation | undefined): void {
  if (installation === undefined) Reflect.deleteProperty(globalThis, INSTALLATION)
  else
    Object.defineProperty(globalThis, INSTALLATION, {
      value: installation,
      configurable: true,
      enumerable: false,
    })
}

/**
 * The class of a dispatcher, or of its inner Agent: undici's EnvHttpProxyAgent, ProxyAgent and MockAgent have one
 * behind a symbol.
 */
function toAgentClass(dispatcher: unknown): BuiltinAgentClass | null {
  if (typeof dispatcher !== 'object' || dispatcher === null) return null
  const own = toOwnClass(dispatcher)
  if (own !== null) return own
  for (const key of Object.getOwnPropertySymbols(dispatcher)) {
    const held: unknown = Reflect.get(dispatcher, key)
    const agentClass = typeof held === 'object' && held !== null ? toOwnClass(held) : null
    if (agentClass !== null) return agentClass
  }
  return null
}

/**
 * The class of an undici Agent; null for anything else. `instanceof` doesn't recognise undici's classes, since each
 * copy of undici has its own. Dodici's have no symbols like these. A caller's class that extends an undici class counts
 * as that class.
 */
function toOwnClass(dispatcher: object): BuiltinAgentClass | null {
  const own = toDescriptions(dispatcher)
  if (TRAITS.ofPools.some((name) => own.has(name)) || !TRAITS.own.every((name) => own.has(name))) return null
  let prototype: object | null = Object.getPrototypeOf(dispatcher)
  while (prototype !== null) {
    const names = toDescriptions(prototype)
    if (TRAITS.ofClass.every((name) => names.has(name))) return prototype.constructor as BuiltinAgentClass
    prototype = Object.getPrototypeOf(prototype)
  }
  return null
}

/** The descriptions of an object's own symbols. */
function toDescriptions(object: object): Set<string | undefined> {
  return new Set(Object.getOwnPropertySymbols(object).map(({ description }) => description))
}

// Reading the slots loads nothing.
peekBuiltinClass()
