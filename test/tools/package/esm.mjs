// Run from a folder where the packed library is installed, as: node esm.mjs URL
import assert from 'node:assert/strict'
import { request } from './request.mjs'

const globals = Reflect.ownKeys(globalThis)
const dispatchers = ['undici.globalDispatcher.1', 'undici.globalDispatcher.2'].map((key) => Symbol.for(key))
const before = dispatchers.map((key) => Object.getOwnPropertyDescriptor(globalThis, key))

// Imported only now, so that what was there before it is known.
const dodici = await import('dodici')

assert.deepEqual(
  dispatchers.map((key) => Object.getOwnPropertyDescriptor(globalThis, key)),
  before,
  "importing changed Node's global dispatcher",
)
assert.deepEqual(Reflect.ownKeys(globalThis), globals, 'importing changed the globals')

await request(dodici.Client, process.argv[2])
process.stdout.write(JSON.stringify(Object.keys(dodici).sort()))
