/**
 * The dispatcher that is built into Node, and the two places where fetch looks for one.
 *
 * @module
 */

import type { FallbackDispatcher } from '../../../types/client.ts'

/**
 * Where the global dispatcher is: Node's own undici, and every copy from npm, agree on these two. `legacy` is read by
 * undici 6 and 7 (Node 20, 22 and 24), `native` by undici 8 (Node 26).
 */
export const SLOTS = Object.freeze({
  legacy: Symbol.for('undici.globalDispatcher.1'),
  native: Symbol.for('undici.globalDispatcher.2'),
})

/** What Dodici needs of an Agent of undici. */
export interface BuiltinAgent extends FallbackDispatcher {
  destroy(error: Error | null): Promise<void>
}

/** The class of one. */
export type BuiltinAgentClass = new (options: object) => BuiltinAgent

/** Classes of undici that can be made anew from options alone, and reach any origin. */
const AGENTS: ReadonlySet<unknown> = new Set(['Agent', 'EnvHttpProxyAgent'])

/** What stands in both places; undefined for nothing. */
export function readSlots(): { legacy: unknown; native: unknown } {
  return { legacy: Reflect.get(globalThis, SLOTS.legacy), native: Reflect.get(globalThis, SLOTS.native) }
}

/** Makes Node load its own undici, which then takes the places that are empty. Reading `fetch` alone wouldn't. */
export function loadBuiltin(): void {
  Reflect.get(globalThis, 'Headers')
}

/** The class of the Agent that stands there now; null where none does. */
export function peekBuiltinClass(): BuiltinAgentClass | null {
  const { legacy, native } = readSlots()
  return toAgentClass(native) ?? toAgentClass(legacy)
}

/**
 * The class of Node's own Agent. Where somebody else's dispatcher stands in its place, and Node hasn't loaded its
 * undici yet, that one is put aside for as long as that takes.
 *
 * @returns null where Node has loaded its undici after the place was taken: then it has never made an Agent
 */
export function findBuiltinClass(): BuiltinAgentClass | null {
  const kept = readInstallation()?.agentClass ?? null
  const present = kept ?? peekBuiltinClass() ?? seenAtImport
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

/** What `install()` has put where, and what stood there before. */
export interface Installation {
  readonly dispatcher: FallbackDispatcher
  /** Undefined where nothing stood there. */
  readonly legacy: unknown
  readonly native: unknown
  /** Of Node's own dispatcher; null where it was not to be found. */
  readonly agentClass: BuiltinAgentClass | null
}

/** The ESM and the CJS copy of this package in one process know of each other's. */
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

/** What stands there, or what it holds: undici's ProxyAgent and MockAgent have an Agent each, behind a symbol. */
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
 * Undici's classes can't be told by `instanceof`, as each copy has its own; ours have another parent. A class of the
 * caller's that extends one of them stands for that one.
 */
function toOwnClass(dispatcher: object): BuiltinAgentClass | null {
  let agentClass: unknown = dispatcher.constructor
  while (typeof agentClass === 'function') {
    const parent: unknown = Object.getPrototypeOf(agentClass)
    const isOfUndici = typeof parent === 'function' && parent.name === 'DispatcherBase'
    if (isOfUndici) return AGENTS.has(agentClass.name) ? (agentClass as BuiltinAgentClass) : null
    agentClass = parent
  }
  return null
}

/** Whoever stood there before us: later there may be a dispatcher of another kind. Nothing is loaded for that. */
const seenAtImport = peekBuiltinClass()
