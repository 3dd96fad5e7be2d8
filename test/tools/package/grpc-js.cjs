// Run from a folder where the packed library is installed, and @grpc/grpc-js isn't, as: node grpc-js.cjs
const assert = require('node:assert/strict')
const entry = require('dodici/grpc-js')

assert.throws(() => entry.channelFactory(), /needs @grpc\/grpc-js: install it, or pass it/)
process.stdout.write(JSON.stringify(Object.keys(entry).sort()))
