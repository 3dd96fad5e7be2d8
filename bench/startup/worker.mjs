/**
 * Loads one library, sends one request and reads its response, and writes what CPU time each took, in milliseconds, as JSON.
 */
import { createRequire } from 'node:module'

/** @type {{ client: 'wire' | 'node' | 'undici' | 'node:http2', origin: string, path: string }} */
const { client, origin, path } = JSON.parse(process.argv[2] ?? '{}')
const require = createRequire(import.meta.url)

/** The built package itself. By a constant, or tools would take it for the source that tsconfig.json points to. */
const DODICI = 'dodici'

/** @typedef {typeof import('dodici')} Dodici */

/** @param {'wire' | 'node'} engine */
function loadDodici(engine) {
  /** @type {Dodici} */
  const { Client } = require(DODICI)
  return async () => {
    const { body } = await new Client(origin, { engine }).request({ path, method: 'GET' })
    return (await body.text()).length
  }
}

function loadUndici() {
  /** @type {typeof import('undici-8')} */
  const { Client } = require('undici-8')
  return async () => {
    const h2Options = { useH2c: true }
    /** @type {object} */
    const options = { allowH2: true, h2Options }
    const { body } = await new Client(origin, options).request({ path, method: 'GET' })
    return (await body.text()).length
  }
}

function loadNode() {
  /** @type {typeof import('node:http2')} */
  const { connect } = require('node:http2')
  return async () => {
    const stream = connect(origin).request({ ':path': path })
    let length = 0
    for await (const chunk of stream) length += chunk.length
    return length
  }
}

function load() {
  switch (client) {
    case 'undici':
      return loadUndici()
    case 'node:http2':
      return loadNode()
    default:
      return loadDodici(client)
  }
}

/** @param {NodeJS.CpuUsage} before */
function toMilliseconds(before) {
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}

const before = process.cpuUsage()
const send = load()
const loaded = toMilliseconds(before)
const length = await send()
const responded = toMilliseconds(before)
process.stdout.write(
  JSON.stringify({ load: loaded, first: responded - loaded, both: responded, length }),
  () => process.exit(),
)
