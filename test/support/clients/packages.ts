/** Clients that others wrote and that `npm ci` doesn't install: each folder of them has a package.json of its own. */

import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { hasPackages } from '../../../scripts/packages.mjs'

/** A folder that `scripts/install-clients.mjs` fills. */
export type PackagesFolder = 'aws' | 'grpc-clients'

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

/** A package of the folder, to which its test says what it has. Its types aren't there when types are checked. */
export function loadPackage<T>(name: PackagesFolder, specifier: string): T {
  if (!hasPackages(toFolder(name))) throw new Error(toReason(name))
  return createRequire(`${toFolder(name)}package.json`)(specifier)
}
