import { createRequire } from 'node:module'
import { expect, it } from 'vitest'
import * as client from '../../src/index.ts'
import * as testing from '../../src/testing/index.ts'

const require = createRequire(import.meta.url)

/** `name/length` of each function that can be reached from a value, by its path: classes, methods and accessors too. */
function toSignatures(
  value: unknown,
  path = '',
  found: Record<string, string> = {},
  seen = new Set<unknown>(),
) {
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null || seen.has(value)) {
    return found
  }
  seen.add(value)
  // esbuild gives a number to a function whose name another file of the bundle has too, such as `request2`.
  if (typeof value === 'function') found[path] = `${value.name.replace(/\d$/, '')}/${value.length}`
  for (const key of Reflect.ownKeys(value)) {
    const property = Object.getOwnPropertyDescriptor(value, key)
    for (const part of [property?.value, property?.get, property?.set]) {
      toSignatures(part, `${path}.${String(key)}`, found, seen)
    }
  }
  return found
}

/** Values where a module has getters of its own: those have other names. */
function toValues(module: object): object {
  const values = Object.entries(module).map(([name, value]) => [
    name,
    name === 'errors' ? { ...value } : value,
  ])
  return Object.fromEntries(values)
}

it.each([
  ['index', client],
  ['testing', testing],
] as const)('the build has the names and lengths of functions that the sources have: %s', async (entry, sources) => {
  const expected = toSignatures(toValues(sources))
  expect(Object.keys(expected).length).toBeGreaterThan(50)
  expect(toSignatures(toValues(require(`../../dist/${entry}.cjs`)))).toEqual(expected)
  expect(toSignatures(toValues(await import(`../../dist/${entry}.js`)))).toEqual(expected)
})
