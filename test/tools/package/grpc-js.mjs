// Run from a folder where the packed library is installed, and @grpc/grpc-js isn't, as: node grpc-js.mjs
import assert from 'node:assert/strict'
import * as entry from 'dodici/grpc-js'

assert.throws(() => entry.channelFactory(), /needs @grpc\/grpc-js: install it, or pass it/)
process.stdout.write(JSON.stringify(Object.keys(entry).sort()))
