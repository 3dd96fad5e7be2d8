/**
 * The ways to undici, an optional peer, each written as a tool can follow it. The build copies this module as it is:
 * esbuild would take the calls out of it.
 *
 * @module
 */

import { createRequire } from 'node:module'

/** What one way has led to. */
export interface Found {
  /** What undici exports; undefined where it can't be loaded. */
  readonly names?: unknown
  /** Why not. */
  readonly cause?: unknown
  /** That of its package.json; undefined where this can't be read. */
  readonly version?: unknown
}

/** webpack's own, in what webpack has bundled. */
declare const __webpack_require__: unknown

/**
 * CommonJS, and what esbuild, rolldown and Turbopack bundle: they put undici there, or leave the call to Node. A module
 * of Node's has no `require`. Each `try` says that undici may be missing.
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
 * A module of Node's, and what webpack bundles: it follows a function that is made in this way, and no other one. In
 * what others have bundled it looks from where the bundle is.
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
 * What each way has led to, until one has found undici. webpack leaves `require` to Node in a module, which may find
 * another copy than the one in the bundle.
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
