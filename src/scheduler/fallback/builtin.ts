/**
 * The dispatcher that is built into Node, and the two slots where fetch looks for one.
 *
 * @module
 */

import type { FallbackDispatcher } from '../../../types/client.ts'

/**
 * The two symbols for the global dispatcher. Node's own undici and every copy from npm agree on them. undici 6 and 7
 * (Node 20, 22 and 24) read `legacy`, undici 8 (Node 26) reads `native`.
 */
export const SLOTS = Object.freeze({
  legacy: Symbol.for('undici.globalDispatcher.1'),
  native: Symbol.for('undici.globalDispatcher.2'),
})

/** The class of the last Agent that was seen in the slots; null if none was. */
let lastSeen: BuiltinAgentClass | null = null

/** One of undici's dispatchers, as its events name it. */
export interface BuiltinTarget {
  destroy(error: Error | null): Promise<void>
}

/** The part of undici's Agent that Dodici needs. */
export interface BuiltinAgent extends FallbackDispatcher, BuiltinTarget {
  on(event: 'connect', listener: (origin: URL, targets: readonly BuiltinTarget[]) => void): unknown
  on(
    event: 'disconnect' | 'connectionError',
    listener: (origin: URL, targets: readonly BuiltinTarget[], error: Error) => void,
  ): unknown
}

/** The class of undici's Agents. */
export type BuiltinAgentClass = new (options: object) => BuiltinAgent

/**
 * The traits that distinguish undici's Agent from other dispatchers: it can be created anew from options alone, and it
 * reaches any origin without a proxy. Bundlers and minifiers rename classes, but keep the descriptions of symbols.
 */
const TRAITS = {
  /** Every Agent has these properties. */
  own: ['options', 'factory', 'clients'],
  /** Pools of any kind have these properties, too, in addition to an Agent's. */
  ofPools: ['queue', 'url'],
  /** An Agent's class has these methods. A caller's subclass doesn't have them itself. */
  ofClass: ['running', 'dispatch', 'close', 'destroy'],
} as const

/** The global dispatchers in both slots; undefined for an empty slot. */
export function readSlots(): { legacy: unknown; native: unknown } {
  return { legacy: Reflect.get(globalThis, SLOTS.legacy), native: Reflect.get(globalThis, SLOTS.native) }
}

/** Makes Node load its own undici, which then fills empty slots. Reading `fetch` doesn't load it. */
export function loadBuiltin(): void {
  Reflect.get(globalThis, 'Headers')
}

/**
 * The class of the Agent in the slots now; null for none. It is remembered, because another dispatcher may replace the
 * Agent later.
 */
export function peekBuiltinClass(): BuiltinAgentClass | null {
  const { legacy, native } = readSlots()
  const present = toAgentClass(native) ?? toAgentClass(legacy)
  lastSeen = present ?? lastSeen
  return present
}

/**
 * The class of Node's own Agent. If Node hasn't loaded its undici yet and a foreign dispatcher is in the slots, that
 * one is taken out while Node loads its undici, and then put back.
 *
 * @returns null if Node loaded its undici after the slot was filled: then Node has never created an Agent
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
  /** Undefined if the slot was empty. */
  readonly legacy: unknown
  readonly native: unknown
  /** The class of Node's own Agent; null if it wasn't found. */
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
 * The class of a dispatcher, or of its inner Agent: undici's EnvHttpProxyAgent, ProxyAgent and MockAgent keep one under
 * a symbol.
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
 * The class of an undici Agent; null for anything else. `instanceof` doesn't recognise undici's classes, because each
 * copy of undici has its own. Dodici's classes have no such symbols. A caller's class that extends an undici class
 * counts as that class.
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

// This loads nothing: it only reads the slots.
peekBuiltinClass()
