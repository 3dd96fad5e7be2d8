import { createRequire } from 'node:module'
import { Client, Pool } from 'undici-8'
import { openUndiciShape } from './undici-shape.mjs'

/** @type {{ version: string }} */
const manifest = createRequire(import.meta.url)('undici-8/package.json')

export const version = manifest.version

/** @type {import('./index.mjs').Adapter['open']} */
export async function open(origin, { connections, maxStreams, ca }) {
  const options = {
    allowH2: true,
    // Without `useH2c` an `http:` origin is spoken to in HTTP/1.1. `pipelining` bounds nothing once HTTP/2 is
    // up: it is set so that nobody need wonder.
    h2Options: { useH2c: origin.startsWith('http:'), maxConcurrentStreams: maxStreams },
    pipelining: maxStreams,
    connect: { ca },
  }
  return openUndiciShape(
    connections === 1 ? new Client(origin, options) : new Pool(origin, { ...options, connections }),
  )
}
