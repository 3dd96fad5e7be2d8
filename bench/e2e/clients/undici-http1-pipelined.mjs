import { openHttp1 } from './undici-http1-shape.mjs'

/** The cheapest that HTTP/1.1 gets: ten requests in flight on each of ten connections. @type {import('./index.mjs').Adapter['open']} */
export const open = (origins, options) => openHttp1(origins, options, { connections: 10, pipelining: 10 })
