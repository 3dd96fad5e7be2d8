/**
 * The undici that is installed next to Dodici.
 *
 * @module
 */

import { errors } from '../index.ts'
import type { Major } from './names.ts'
import { NAMES } from './names.ts'
import type { Found } from './peer.ts'
import { findUndici } from './peer.ts'

/** The result of loading undici. The version is null if its package.json can't be read. */
export type Installed =
  | { readonly state: 'loaded'; readonly names: object; readonly version: string | null }
  | { readonly state: 'missing'; readonly cause: unknown }
  | { readonly state: 'broken'; readonly version: string | null; readonly cause: unknown }

/** Bun has a module with that name, whose classes do nothing. */
function isUndici(names: unknown): names is object {
  const { Agent }: { Agent?: unknown } = Object(names)
  return typeof Agent === 'function' && typeof Reflect.get(Object(Agent.prototype), 'dispatch') === 'function'
}

function toMessage(cause: unknown): string {
  const message: unknown = Reflect.get(Object(cause), 'message')
  return typeof message === 'string' ? message : ''
}

/**
 * Whether undici itself is missing, not a file that it needs. The first line contains the requested name, in the
 * words of Node, webpack, jest or Yarn; later lines contain paths. Vite's message has no code, because it has checked
 * already.
 */
function isNotFound(cause: unknown): boolean {
  const [line = ''] = toMessage(cause).split('\n')
  if (line.startsWith('Could not resolve "undici')) return true
  return (
    Reflect.get(Object(cause), 'code') === 'MODULE_NOT_FOUND' &&
    /(^|[^\w/.@-])undici(\/package\.json)?(?![\w/.-])/.test(line)
  )
}

/**
 * Whether this way can't work here: one of Node's modules has no `require`, and what esbuild or rolldown replace it
 * with in a bundle refuses to load what isn't in the bundle.
 */
function isNoWay(cause: unknown): boolean {
  const message = toMessage(cause)
  if (Reflect.get(Object(cause), 'name') === 'ReferenceError') return /\brequire\b/.test(message)
  return Reflect.get(Object(cause), 'code') === undefined && /"undici(\/package\.json)?"/.test(message)
}

/** @param found the result of each way */
export function toInstalled(found: readonly Found[]): Installed {
  const version = found.find((each) => each.version !== undefined)?.version
  const named = version === undefined ? null : String(version)
  for (const { names } of found) {
    if (names === undefined) continue
    if (isUndici(names)) return { state: 'loaded', names, version: named }
    // Without a version there is none of npm's.
    return named === null
      ? { state: 'missing', cause: new Error(`This runtime's built-in module 'undici' has no dispatchers`) }
      : {
          state: 'broken',
          version: named,
          cause: new Error(`This runtime's built-in module 'undici' hides the npm package`),
        }
  }
  const causes = found.map(({ cause }) => cause)
  const failure = causes.find((cause) => !isNotFound(cause) && !isNoWay(cause))
  if (failure !== undefined) return { state: 'broken', version: named, cause: failure }
  const cause = causes.find(isNotFound)
  return cause === undefined
    ? { state: 'broken', version: named, cause: causes[0] }
    : { state: 'missing', cause }
}

/** The major version of the loaded undici: a bundle may contain undici without its package.json. */
export function toMajor(names: object, version: string | null): Major | number {
  if (version !== null) return Number.parseInt(version, 10)
  if ('Dispatcher1Wrapper' in names) return 8
  return 'cacheStores' in names ? 7 : 6
}

/** Why a name is missing, and what helps. */
export function toReason(name: string, installed: Installed): Error {
  const majors = NAMES.get(name)?.since ?? []
  const wanted = `undici ${majors.join(' or ')}`
  if (installed.state === 'missing') {
    return new errors.NotSupportedError(
      `${name} comes from undici, which isn't installed: install ${wanted} next to dodici (npm install undici)`,
      { cause: installed.cause },
    )
  }
  const present = installed.version === null ? 'the undici that was found' : `undici ${installed.version}`
  if (installed.state === 'loaded')
    return new errors.NotSupportedError(`${present} has no ${name}: it needs ${wanted}`)
  return new errors.NotSupportedError(
    `${name} comes from undici, but Node ${process.version} can't load ${present}: see the cause`,
    { cause: installed.cause },
  )
}

/** Properties through which Node and libraries inspect any value: nothing is an instance of a missing class. */
function toProbed(key: string | symbol): { readonly value: unknown } | null {
  if (key === Symbol.hasInstance) return { value: () => false }
  return typeof key === 'symbol' || key === 'then' || key === 'toJSON' ? { value: undefined } : null
}

/**
 * A substitute for a missing name. It can be imported. Each use of it throws: a call, `new`, `extends`, and a
 * property.
 */
export function toStandIn(name: string, installed: Installed): unknown {
  const fail = (): never => {
    throw toReason(name, installed)
  }
  const get = (_target: object, key: string | symbol): unknown => {
    const probed = toProbed(key)
    return probed === null ? fail() : probed.value
  }
  const changes = { set: fail, has: fail, ownKeys: fail, defineProperty: fail, deleteProperty: fail }
  return new Proxy(function standIn() {}, { apply: fail, construct: fail, get, ...changes })
}

/** A name from undici, or its substitute. */
export function toName(name: string, installed: Installed): unknown {
  const present = installed.state === 'loaded' && name in installed.names
  return present ? Reflect.get(installed.names, name) : toStandIn(name, installed)
}

/** The installed undici, loaded once. */
export const installed = toInstalled(findUndici())
