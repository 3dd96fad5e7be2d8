/** Clients and tools that others wrote and that `npm ci` doesn't install: each folder of them has a package.json of its own. */

import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { hasPackages } from '../../../scripts/packages.mjs'

/** A folder that `scripts/install-clients.mjs` fills. */
export type PackagesFolder = 'aws' | 'grpc-clients' | 'user-tools'

function toFolder(name: PackagesFolder): string {
  return fileURLToPath(new URL(`../../interop/${name}/`, import.meta.url))
}

function toReason(name: PackagesFolder): string {
  return `the packages of test/interop/${name} are not installed: scripts/install-clients.mjs installs them`
}

/**
 * Whether the tests that need the packages are skipped: where they are missing, which is said aloud. With CI=true they
 * never are: there they run, and fail by `loadPackage()`.
 */
export function lacksPackages(name: PackagesFolder): boolean {
  if (process.env.CI === 'true' || hasPackages(toFolder(name))) return false
  console.warn(`SKIPPED: ${toReason(name)}.`)
  return true
}

function requireIn(name: PackagesFolder): NodeJS.Require {
  if (!hasPackages(toFolder(name))) throw new Error(toReason(name))
  return createRequire(`${toFolder(name)}package.json`)
}

/** A package of the folder, to which its test says what it has. Its types aren't there when types are checked. */
export function loadPackage<T>(name: PackagesFolder, specifier: string): T {
  return requireIn(name)(specifier)
}

/** The path of a file in a package of the folder. */
export function resolvePackage(name: PackagesFolder, specifier: string): string {
  return requireIn(name).resolve(specifier)
}
