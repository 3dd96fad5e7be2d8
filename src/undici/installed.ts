/**
 * The undici that the user has installed beside Dodici.
 *
 * @module
 */

import { createRequire } from 'node:module'
import { errors } from '../index.ts'
import { NAMES } from './names.ts'

/** How it went to load undici. */
export type Installed =
  | { readonly state: 'loaded'; readonly names: object; readonly version: string }
  | { readonly state: 'missing'; readonly cause: unknown }
  | { readonly state: 'broken'; readonly version: string; readonly cause: unknown }

/** Bun has a module of that name with classes that do nothing. */
function isUndici(names: object): boolean {
  const { Agent }: { Agent?: unknown } = names
  return typeof Agent === 'function' && typeof Reflect.get(Object(Agent.prototype), 'dispatch') === 'function'
}

/** @param require resolves `undici` from where Dodici is */
export function loadUndici(require: NodeJS.Require): Installed {
  let version: string
  try {
    version = String(require('undici/package.json').version)
  } catch (cause) {
    return { state: 'missing', cause }
  }
  try {
    const names: object = require('undici')
    if (!isUndici(names))
      throw new Error(`This runtime has a module 'undici' of its own, which hides that of npm`)
    return { state: 'loaded', names, version }
  } catch (cause) {
    return { state: 'broken', version, cause }
  }
}

/** Why a name isn't there, and what helps. */
export function toReason(name: string, installed: Installed): Error {
  const majors = NAMES.get(name)?.since ?? []
  const wanted = `undici ${majors.join(' or ')}`
  switch (installed.state) {
    case 'missing':
      return new errors.NotSupportedError(
        `${name} is undici's own, and undici isn't installed: install ${wanted} beside dodici (npm install undici)`,
        { cause: installed.cause },
      )
    case 'broken':
      return new errors.NotSupportedError(
        `${name} is undici's own, and Node ${process.version} can't load undici ${installed.version}: see the cause`,
        { cause: installed.cause },
      )
    case 'loaded':
      return new errors.NotSupportedError(`undici ${installed.version} has no ${name}: ${wanted} has it`)
  }
}

/** Properties by which Node and libraries look at any value: nothing is an instance of what isn't there. */
function toProbed(key: string | symbol): { readonly value: unknown } | null {
  if (key === Symbol.hasInstance) return { value: () => false }
  return typeof key === 'symbol' || key === 'then' || key === 'toJSON' ? { value: undefined } : null
}

/**
 * What stands for a name that isn't there. It can be imported. Each use of it throws: a call, `new`, `extends`, and a
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

/** A name of undici's, or what stands for it. */
export function toName(name: string, installed: Installed): unknown {
  const present = installed.state === 'loaded' && name in installed.names
  return present ? Reflect.get(installed.names, name) : toStandIn(name, installed)
}

// A bundler that makes CommonJS of this has no `import.meta.url`.
const here = typeof __filename === 'string' ? __filename : import.meta.url

/** The user's undici, loaded once. */
export const installed = loadUndici(createRequire(here))
