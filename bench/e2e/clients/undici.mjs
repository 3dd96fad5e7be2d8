import { Agent, Client, fetch, Pool } from 'undici-8'
import { openUndiciShape } from './undici-shape.mjs'
import { versionOf } from './version.mjs'

const version = versionOf(import.meta.resolve('undici-8'))

/** @type {import('./index.mjs').Adapter['open']} */
export async function open(origins, { connections, maxStreams, ca, api }) {
  // Without `useH2c` an `http:` origin is spoken to in HTTP/1.1. `pipelining` bounds nothing once HTTP/2 is
  // up: it is set to make that explicit.
  const [origin = ''] = origins
  const useH2c = origin.startsWith('http:')
  const h2Options = { useH2c, maxConcurrentStreams: maxStreams }
  const options = { allowH2: true, h2Options, pipelining: maxStreams, connect: { ca } }
  if (origins.length > 1 || api === 'fetch') {
    // At the top level: the Pool of an Agent doesn't look for it in `h2Options`.
    const agent = new Agent({
      ...options,
      h2Options: { maxConcurrentStreams: maxStreams },
      useH2c,
      connections,
    })
    return { ...openUndiciShape(agent, fetch), version }
  }
  const dispatcher =
    connections === 1 ? new Client(origin, options) : new Pool(origin, { ...options, connections })
  return { ...openUndiciShape(dispatcher, fetch), version }
}
