/**
 * The dispatchers: Dodici's, and undici's over HTTP/2 and HTTP/1.1. A worker loads what its own client needs.
 *
 * @typedef {import('./index.mjs').Adapter} Adapter
 */
import { pathToFileURL } from 'node:url'
import { openUndiciShape, versionOf } from './shapes.mjs'

/** The build: bench/ is a package of its own, which has no `dodici`. */
const DODICI = new URL('../../../dist/index.js', import.meta.url).href

/** @type {Adapter} */
export const dodici = {
  async open(origins, { connections, ca, engine, entry, api }) {
    // More than one connection is a pool's work; a Client has one.
    if (connections !== 1) throw new Error('this adapter has one connection')
    const url = entry === null ? DODICI : pathToFileURL(entry).href
    /** @type {typeof import('dodici')} */
    const { Agent, Client, fetch } = await import(url)
    const options = { connect: { ca }, engine }
    const dispatcher =
      origins.length === 1 && api !== 'fetch'
        ? new Client(origins[0], options)
        : new Agent({ ...options, connections, h2c: true })
    return { ...openUndiciShape(dispatcher, fetch), version: versionOf(url) }
  },
}

const undici8 = () => import.meta.resolve('undici-8')

/** @type {Adapter} */
export const undici = {
  async open(origins, { connections, maxStreams, ca, api }) {
    const { Agent, Client, fetch, Pool } = await import('undici-8')
    // Without `useH2c` an `http:` origin is spoken to in HTTP/1.1. `pipelining` bounds nothing once HTTP/2 is
    // up: it is set to make that explicit.
    const [origin] = origins
    const useH2c = origin.startsWith('http:')
    const h2Options = { useH2c, maxConcurrentStreams: maxStreams }
    const options = { allowH2: true, h2Options, pipelining: maxStreams, connect: { ca } }
    // At the top level: the Pool of an Agent doesn't look for it in `h2Options`.
    const ofAgent = { ...options, h2Options: { maxConcurrentStreams: maxStreams }, useH2c, connections }
    const toPool = () =>
      connections === 1 ? new Client(origin, options) : new Pool(origin, { ...options, connections })
    const dispatcher = origins.length > 1 || api === 'fetch' ? new Agent(ofAgent) : toPool()
    return { ...openUndiciShape(dispatcher, fetch), version: versionOf(undici8()) }
  },
}

/** undici over HTTP/1.1, by so many connections to each origin. @param {{ connections: number, pipelining: number }} shape @returns {Adapter} */
const toHttp1 = (shape) => ({
  async open(origins, { ca, api }) {
    const { Agent, fetch, Pool } = await import('undici-8')
    const options = { ...shape, allowH2: false, connect: { ca } }
    const dispatcher =
      origins.length > 1 || api === 'fetch' ? new Agent(options) : new Pool(origins[0], options)
    return { ...openUndiciShape(dispatcher, fetch), version: versionOf(undici8()) }
  },
})

/** What users have who don't change anything: a connection for each request in flight, up to 100. */
export const undiciHttp1 = toHttp1({ connections: 100, pipelining: 1 })
/** The cheapest that HTTP/1.1 gets: ten requests in flight on each of ten connections. */
export const undiciPipelined = toHttp1({ connections: 10, pipelining: 10 })
