/**
 * The ways to load undici, an optional peer, each written so that bundlers can follow it. The build copies this
 * module unchanged: esbuild would remove the calls.
 *
 * @module
 */

import { createRequire } from 'node:module'

/** The result of one way. */
export interface Found {
  /** What undici exports; undefined if it can't be loaded. */
  readonly names?: unknown
  /** Why it can't be loaded. */
  readonly cause?: unknown
  /** The version in its package.json; undefined if that can't be read. */
  readonly version?: unknown
}

/** Defined by webpack in its bundles. */
declare const __webpack_require__: unknown

/**
 * For CommonJS, and for bundles from esbuild, rolldown and Turbopack: they include undici, or leave the call to Node.
 * One of Node's modules has no `require`. Each `try` says that undici may be missing.
 */
function findByRequire(): Found {
  let version: unknown
  try {
    version = require('undici/package.json').version
  } catch {
    // Only its message would have said it.
  }
  try {
    return { names: require('undici'), version }
  } catch (cause) {
    return { cause, version }
  }
}

/**
 * For Node's modules, and for bundles from webpack, which follows a function created in this way, and no other. In
 * other bundles, it searches from the bundle's location.
 */
function findByCreateRequire(): Found {
  const require = createRequire(import.meta.url)
  let version: unknown
  try {
    version = require('undici/package.json').version
  } catch {
    // Only its message would have said it.
  }
  try {
    return { names: require('undici'), version }
  } catch (cause) {
    return { cause, version }
  }
}

/**
 * The result of each way, until one has found undici. In a module, webpack leaves `require` to Node, which may find a
 * copy other than the one in the bundle.
 */
export function findUndici(): Found[] {
  const ways =
    typeof __webpack_require__ === 'function'
      ? [findByCreateRequire, findByRequire]
      : [findByRequire, findByCreateRequire]
  const results: Found[] = []
  for (const find of ways) {
    // What was made CommonJS of this by a bundler has no URL, and doesn't need one.
    if (find === findByCreateRequire && typeof import.meta.url !== 'string') continue
    const found = find()
    results.push(found)
    if (found.names !== undefined) break
  }
  return results
}
