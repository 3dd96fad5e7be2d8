import { openHttp1 } from './undici-http1-shape.mjs'

/** What users have who don't change anything: a connection for each request in flight, up to 100. @type {import('./index.mjs').Adapter['open']} */
export const open = (origins, options) => openHttp1(origins, options, { connections: 100, pipelining: 1 })
