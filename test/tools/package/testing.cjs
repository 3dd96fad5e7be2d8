// Run from a folder where the packed library is installed, as: node testing.cjs
const assert = require('node:assert/strict')
const { Client } = require('dodici')

const loaded = () => Object.keys(require.cache).filter((file) => /dist\/testing\.c?js$/.test(file))
assert.deepEqual(loaded(), [], "require('dodici') loaded dodici/testing")

const testing = require('dodici/testing')
assert.equal(loaded().length, 1, 'the check above sees nothing')

async function main() {
  const { requestRefused } = await import('./testing-request.mjs')
  await requestRefused(testing, Client)
  process.stdout.write(JSON.stringify(Object.keys(testing).sort()))
}
main()
