/** Imports the package, and reports what the import has changed outside of it. */
import { report, toResources } from './report.ts'

const DISPATCHERS = ['undici.globalDispatcher.1', 'undici.globalDispatcher.2'].map((name) => Symbol.for(name))

/** Reading a descriptor makes Node load the modules behind some globals; reading the keys doesn't. */
function toGlobals(keys: readonly PropertyKey[]): Map<PropertyKey, PropertyDescriptor | undefined> {
  return new Map(keys.map((key) => [key, Reflect.getOwnPropertyDescriptor(globalThis, key)]))
}

function isSame(a: PropertyDescriptor | undefined, b: PropertyDescriptor | undefined): boolean {
  if (a === undefined || b === undefined) return a === b
  return (
    Object.is(a.value, b.value) &&
    a.get === b.get &&
    a.set === b.set &&
    a.writable === b.writable &&
    a.enumerable === b.enumerable &&
    a.configurable === b.configurable
  )
}

function toListeners(): string[] {
  return process.eventNames().map((name) => `${String(name)}: ${process.listenerCount(name)}`)
}

const [, , mode = ''] = process.argv
// All of them: what loads when it is looked at does so now.
if (mode === 'all') toGlobals(Reflect.ownKeys(globalThis))

const keysBefore = Reflect.ownKeys(globalThis)
const watched = mode === 'all' ? keysBefore : DISPATCHERS
const before = toGlobals(watched)
const listenersBefore = toListeners()
const resourcesBefore = toResources()
const modules = process as unknown as { readonly moduleLoadList: readonly string[] }
const loadedBefore = new Set(modules.moduleLoadList)
const imported = await import('../../../src/index.ts')
const resourcesAfter = toResources()
const loaded = modules.moduleLoadList.filter((name) => !loadedBefore.has(name))
const listenersAfter = toListeners()
const after = toGlobals(watched)
const keysAfter = Reflect.ownKeys(globalThis)

report({
  exports: Object.keys(imported),
  loaded,
  watched: watched.length,
  changed: watched.filter((key) => !isSame(before.get(key), after.get(key))).map(String),
  dispatchers: DISPATCHERS.filter((key) => keysAfter.includes(key)).map(String),
  keysBefore: keysBefore.map(String),
  keysAfter: keysAfter.map(String),
  listenersBefore,
  listenersAfter,
  resourcesBefore,
  resourcesAfter,
})
