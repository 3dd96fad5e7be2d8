// Run from a folder where the packed library is installed, as: node testing.mjs
import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { Agent, Client } from 'dodici'
import { requestRefused } from './testing-request.mjs'

// Dodici alone doesn't load it: its ES module is a wrapper, which would leave CommonJS in this cache.
const loaded = () =>
  Object.keys(createRequire(import.meta.url).cache).filter((file) => /testing\.c?js$/.test(file))
assert.equal(typeof Agent, 'function')
assert.deepEqual(loaded(), [], "import 'dodici' loaded dodici/testing")

const testing = await import('dodici/testing')
assert.equal(loaded().length, 1, 'the check above sees nothing')

await requestRefused(testing, Client)
process.stdout.write(JSON.stringify(Object.keys(testing).sort()))
