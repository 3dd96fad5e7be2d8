import { Agent } from 'undici'
import { toFetchStart } from './fetch-shape.mjs'
import { versionOf } from './version.mjs'

const version = versionOf(import.meta.resolve('undici'))

/**
 * The running Node's fetch with an Agent of the undici that Node 24 has inside, installed from npm: that is how it can
 * be made to speak HTTP/2 there, since Node doesn't hand out the Agent of its own. undici 8's Agent fails as its
 * dispatcher on Node 24.
 *
 * @type {import('./index.mjs').Adapter['open']}
 */
export async function open([origin = ''], { connections, maxStreams, ca }) {
  const agent = new Agent({
    allowH2: true,
    useH2c: origin.startsWith('http:'),
    maxConcurrentStreams: maxStreams,
    pipelining: maxStreams,
    connections,
    connect: { ca },
  })
  return { version, apis: { fetch: toFetchStart(fetch, { dispatcher: agent }) }, close: () => agent.close() }
}
