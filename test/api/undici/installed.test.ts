/** What is said of undici, by how it went to load it. */

import { describe, expect, it } from 'vitest'
import type { Installed } from '../../../src/undici/installed.ts'
import { toInstalled, toMajor, toReason } from '../../../src/undici/installed.ts'
import { LOADABLE, UNDICIS } from './rig.ts'

function fail(message: string, code?: string, name = 'Error'): Error {
  const error = Object.assign(new Error(message), { name })
  return code === undefined ? error : Object.assign(error, { code })
}

const NO_REQUIRE = fail(
  'require is not defined in ES module scope, you can use import instead',
  undefined,
  'ReferenceError',
)

/** Each tool has words of its own. */
const MISSING: Record<string, Error> = {
  Node: fail(
    "Cannot find module 'undici'\nRequire stack:\n- /app/node_modules/dodici/dist/undici.cjs",
    'MODULE_NOT_FOUND',
  ),
  'Node, asked for the version': fail(
    "Cannot find module 'undici/package.json'\nRequire stack:",
    'MODULE_NOT_FOUND',
  ),
  webpack: fail("Cannot find module 'undici'", 'MODULE_NOT_FOUND'),
  jest: fail("Cannot find module 'undici' from 'node_modules/dodici/dist/undici.cjs'", 'MODULE_NOT_FOUND'),
  Yarn: fail(
    "dodici tried to access undici (a peer dependency) but it isn't provided by your application; this makes the require call ambiguous and unsound.\n\nRequired package: undici\n",
    'MODULE_NOT_FOUND',
  ),
  Vite: fail('Could not resolve "undici" imported by "dodici". Is it installed?'),
}

const BROKEN: Record<string, Error> = {
  'a module that undici needs is gone': fail(
    "Cannot find module './lib/gone'\nRequire stack:\n- /app/node_modules/undici/index.js",
    'MODULE_NOT_FOUND',
  ),
  "a package with a name like undici's is gone": fail(
    "Cannot find module 'undici-types'",
    'MODULE_NOT_FOUND',
  ),
  'its main file is gone': fail(
    `Cannot find module '/app/node_modules/undici/index.js'. Please verify that the package.json has a valid "main" entry`,
    'MODULE_NOT_FOUND',
  ),
  'the line of Node is too old': fail('File is not defined', undefined, 'ReferenceError'),
  'a single executable has only what is built in': fail(
    'No such built-in module: undici',
    'ERR_UNKNOWN_BUILTIN_MODULE',
  ),
  'a permission is missing': fail('Access to this API has been restricted', 'ERR_ACCESS_DENIED'),
  'it exports no package.json': fail(
    'Package subpath \'./package.json\' is not defined by "exports" in /app/node_modules/undici/package.json',
    'ERR_PACKAGE_PATH_NOT_EXPORTED',
  ),
  'a bundle has it, and no require for what it needs': fail(
    'Dynamic require of "node:assert" is not supported',
  ),
}

/** What stands for `require` in the bundles of tools that leave undici out. */
const REFUSALS: Record<string, Error> = {
  Node: NO_REQUIRE,
  Safari: fail("Can't find variable: require", undefined, 'ReferenceError'),
  esbuild: fail('Dynamic require of "undici" is not supported'),
  rolldown: fail(
    `Calling \`require\` for "undici" in an environment that doesn't expose the \`require\` function.`,
  ),
}

const names = {
  Agent: class {
    dispatch(): void {}
  },
}

describe.each(Object.entries(MISSING))('undici is missing, in the words of %s', (_tool, cause) => {
  it.each(Object.entries(REFUSALS))('with another way that is none in %s', (_where, refusal) => {
    for (const found of [[{ cause }], [{ cause: refusal }, { cause }], [{ cause }, { cause: refusal }]]) {
      const installed = toInstalled(found)
      expect(installed).toEqual({ state: 'missing', cause })
      expect(toReason('ProxyAgent', installed)).toMatchObject({
        message: expect.stringContaining("undici, which isn't installed: install undici 6 or 7 or 8"),
        cause,
      })
    }
  })
})

describe.each(Object.entries(BROKEN))('undici is there, and %s', (_what, cause) => {
  it.each([undefined, '8.99.0'])('its version being %s', (version) => {
    const found = version === undefined ? { cause } : { cause, version }
    for (const all of [[found], [{ cause: NO_REQUIRE }, found], [found, { cause: MISSING.Node }]]) {
      const installed = toInstalled(all)
      expect(installed).toEqual({ state: 'broken', version: version ?? null, cause })
      const { message, cause: told } = toReason('ProxyAgent', installed)
      expect(told).toBe(cause)
      expect(message).not.toContain('install')
      expect(message).toContain(
        `can't load ${version === undefined ? 'the undici that was found' : 'undici 8.99.0'}: see`,
      )
    }
  })
})

it.each(
  Object.entries(REFUSALS),
)('where there is no way at all, such as in %s, nothing is said to be missing', (_where, cause) => {
  expect(toInstalled([{ cause }])).toEqual({ state: 'broken', version: null, cause })
})

it('the way that has found undici decides', () => {
  const version = '7.30.2'
  expect(toInstalled([{ cause: NO_REQUIRE }, { names, version }])).toEqual({
    state: 'loaded',
    names,
    version,
  })
  expect(toInstalled([{ cause: BROKEN['a permission is missing'] }, { names }])).toEqual({
    state: 'loaded',
    names,
    version: null,
  })
})

describe('a module of that name that has no dispatchers, such as that of Bun', () => {
  const shadow = { Agent: class {} }

  it('hides the undici that was found', () => {
    expect(toInstalled([{ names: shadow, version: '7.30.2' }])).toMatchObject({
      state: 'broken',
      version: '7.30.2',
      cause: { message: expect.stringContaining('hides the npm package') },
    })
  })

  it('without an installed one is none', () => {
    expect(toInstalled([{ names: shadow }])).toMatchObject({ state: 'missing' })
  })
})

it('a name that the loaded undici lacks says which one has it', () => {
  const reasons = ['6.29.1', null].map((version): Installed => ({ state: 'loaded', names, version }))
  expect(reasons.map((installed) => toReason('ping', installed).message)).toEqual([
    'undici 6.29.1 has no ping: it needs undici 7 or 8',
    'the undici that was found has no ping: it needs undici 7 or 8',
  ])
})

it.each(LOADABLE)('the major version of %s is known without its package.json', async (version) => {
  const loaded: object = await import(UNDICIS[version])
  expect(toMajor(loaded, null)).toBe(Number(version.at(-1)))
  expect(toMajor({}, '7.30.2')).toBe(7)
})
