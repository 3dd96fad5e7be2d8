import { Agent, fetch, Pool } from 'undici-8'
import { openUndiciShape } from './undici-shape.mjs'
import { versionOf } from './version.mjs'

const version = versionOf(import.meta.resolve('undici-8'))

/**
 * undici over HTTP/1.1, by so many connections to each origin.
 *
 * @param {readonly string[]} origins
 * @param {import('./index.mjs').OpenOptions} options
 * @param {{ connections: number, pipelining: number }} shape
 * @returns {Promise<import('./index.mjs').Opened>}
 */
export async function openHttp1(origins, { ca, api }, shape) {
  const options = { ...shape, allowH2: false, connect: { ca } }
  const [origin = ''] = origins
  const dispatcher = origins.length > 1 || api === 'fetch' ? new Agent(options) : new Pool(origin, options)
  return { ...openUndiciShape(dispatcher, fetch), version }
}
