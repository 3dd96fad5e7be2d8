// Run from a folder where the packed library is installed, as: node cjs.cjs URL
const assert = require('node:assert/strict')

const globals = Reflect.ownKeys(globalThis)
const dispatchers = ['undici.globalDispatcher.1', 'undici.globalDispatcher.2'].map((key) => Symbol.for(key))
const before = dispatchers.map((key) => Object.getOwnPropertyDescriptor(globalThis, key))

const dodici = require('dodici')

assert.deepEqual(
  dispatchers.map((key) => Object.getOwnPropertyDescriptor(globalThis, key)),
  before,
  "requiring changed Node's global dispatcher",
)
assert.deepEqual(Reflect.ownKeys(globalThis), globals, 'requiring changed the globals')

async function main() {
  const { request } = await import('./request.mjs')
  await request(dodici.Client, process.argv[2])
  process.stdout.write(JSON.stringify(Object.keys(dodici).sort()))
}
main()
