/**
 * Dodici: an HTTP/2-first client dispatcher for Node.js, with undici's programming model.
 *
 * @module
 */

export type * from '../types/index.ts'
export * as errors from './core/error-classes.ts'
export { toRawHeaders } from './core/headers.ts'
export { Agent } from './dispatcher/agent.ts'
export { Client } from './dispatcher/client.ts'
export { Dispatcher } from './dispatcher/dispatcher.ts'
export { getGlobalDispatcher, setGlobalDispatcher } from './dispatcher/global.ts'
export { Pool } from './dispatcher/pool.ts'
export { EnvHttpProxyAgent } from './dispatcher/proxy/env-http-proxy-agent.ts'
export { ProxyAgent } from './dispatcher/proxy/proxy-agent.ts'
export { Socks5ProxyAgent } from './dispatcher/proxy/socks5-proxy-agent.ts'
export { connect, pipeline, request, stream, upgrade } from './dispatcher/top-level.ts'
export { UpstreamPool } from './dispatcher/upstream/upstream-pool.ts'
export { fetch } from './fetch/fetch.ts'
export { install, uninstall } from './install.ts'
