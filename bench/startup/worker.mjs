/** Loads one library, sends one request and reads its response, and writes what CPU time each took, in milliseconds, as JSON. */
import { createRequire } from 'node:module'

/** @type {{ client: string, origin: string, path: string }} */
const { client, origin, path } = JSON.parse(process.argv[2])
const require = createRequire(import.meta.url)

/** The built package. By a constant: TypeScript knows nothing of it. */
const DODICI = '../../dist/index.cjs'

/** Of each, loading it, and what sends then. @type {Readonly<Record<string, () => () => Promise<number>>>} */
const libraries = {
  dodici() {
    /** @type {typeof import('dodici')} */
    const { Client } = require(DODICI)
    const engine = /** @type {'node' | 'wire'} */ (client)
    return async () => {
      const { body } = await new Client(origin, { engine }).request({ path, method: 'GET' })
      return (await body.text()).length
    }
  },
  undici() {
    /** @type {typeof import('undici-8')} */
    const { Client } = require('undici-8')
    /** @type {object} */
    const options = { allowH2: true, h2Options: { useH2c: true } }
    return async () => {
      const { body } = await new Client(origin, options).request({ path, method: 'GET' })
      return (await body.text()).length
    }
  },
  'node:http2'() {
    /** @type {typeof import('node:http2')} */
    const { connect } = require('node:http2')
    return async () => {
      let length = 0
      for await (const chunk of connect(origin).request({ ':path': path })) length += chunk.length
      return length
    }
  },
}

const before = process.cpuUsage()
const toMilliseconds = () => {
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}
const send = (libraries[client] ?? libraries.dodici)()
const load = toMilliseconds()
const length = await send()
const both = toMilliseconds()
process.stdout.write(JSON.stringify({ load, first: both - load, both, length }), () => process.exit())
