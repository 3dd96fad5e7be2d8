/**
 * The CPU time that requests take, by engine wire and by node:http2 itself.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:http2'
import { fileURLToPath } from 'node:url'

/** How many requests are measured; before them, a part of as many warms up. */
const REQUESTS = 20_000
const AT_ONCE = 100

/**
 * @param {(count: number) => Promise<void>} run sends so many requests
 * @returns {Promise<number>} the CPU time of this process, in seconds
 */
async function measure(run) {
  await run(REQUESTS / 4)
  const before = process.cpuUsage()
  await run(REQUESTS)
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1e6
}

/** @param {() => Promise<unknown>} ask @returns {(count: number) => Promise<void>} */
function toRun(ask) {
  return async (count) => {
    let left = count
    const lane = async () => {
      while (left-- > 0) await ask()
    }
    await Promise.all(Array.from({ length: AT_ONCE }, lane))
  }
}

/** @param {string} origin */
async function measureNode(origin) {
  const session = connect(origin)
  const ask = () =>
    new Promise((resolve, reject) => {
      const stream = session.request({ ':path': '/' })
      let text = ''
      stream.setEncoding('utf8')
      stream.on('data', (piece) => {
        text += piece
      })
      stream.on('end', () => resolve(text))
      stream.on('error', reject)
    })
  const seconds = await measure(toRun(ask))
  session.close()
  return seconds
}

/** @param {typeof import('dodici')} dodici @param {string} origin */
async function measureWire({ Client }, origin) {
  const client = new Client(origin, { engine: 'wire' })
  const ask = async () => {
    const { body } = await client.request({ path: '/', method: 'GET' })
    return body.text()
  }
  const seconds = await measure(toRun(ask))
  await client.close()
  return seconds
}

/**
 * @param {typeof import('dodici')} dodici
 * @returns {Promise<{ requests: number, node: number, wire: number }>} in seconds
 */
export async function compareCpu(dodici) {
  const server = fork(fileURLToPath(new URL('cpu-server.mjs', import.meta.url)), { stdio: 'inherit' })
  try {
    const [{ port }] = await once(server, 'message')
    const origin = `http://127.0.0.1:${port}`
    return { requests: REQUESTS, node: await measureNode(origin), wire: await measureWire(dodici, origin) }
  } finally {
    server.disconnect()
    await once(server, 'exit')
  }
}
