// A process with one gRPC channel: how long it takes to its first response, and its memory after some thousand calls. Printed as JSON.
// Started by ../grpc.mjs, as: alone.mjs ENGINE PORT, where ENGINE is grpc-js, node or wire.
import * as grpc from '@grpc/grpc-js'

const [, , engine, port] = process.argv
const CALLS = 5_000
const AT_ONCE = 50
const MESSAGE = Buffer.alloc(100, 'x')

/** @type {grpc.ClientOptions} */
const options = {}
if (engine !== 'grpc-js') {
  const { channelFactory } = await import(new URL('../../dist/grpc-js.js', import.meta.url).href)
  options.channelFactoryOverride = channelFactory({ grpc, engine })
}
const client = new grpc.Client(`127.0.0.1:${port}`, grpc.credentials.createInsecure(), options)

/** @param {Buffer} bytes */
const same = (bytes) => bytes

const call = () =>
  new Promise((resolve, reject) => {
    client.makeUnaryRequest('/dodici.Test/Echo', same, same, MESSAGE, (error, value) =>
      error ? reject(error) : resolve(value),
    )
  })

await call()
// Since the process began.
const firstResponse = performance.now()
const { user, system } = process.cpuUsage()

let left = CALLS
const lane = async () => {
  while (left-- > 0) await call()
}
await Promise.all(Array.from({ length: AT_ONCE }, lane))
console.log(
  JSON.stringify({
    firstResponse,
    cpu: (user + system) / 1_000,
    memory: process.memoryUsage.rss() / 2 ** 20,
  }),
)
client.close()
