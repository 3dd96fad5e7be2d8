// Run from a folder where the packed library is installed, as: node connect.cjs
const { Client } = require('dodici')
const connect = require('dodici/connect')

async function main() {
  const { call } = await import('./connect-call.mjs')
  await call(connect, Client)
  process.stdout.write(JSON.stringify(Object.keys(connect).sort()))
}
main()
