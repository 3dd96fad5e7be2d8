/**
 * Dodici: an HTTP/2-first client dispatcher for Node.js, with undici's programming model.
 *
 * @module
 */

export type * from '../types/index.ts'
export { Agent } from './dispatcher/agent.ts'
export { Client } from './dispatcher/client.ts'
export { Dispatcher } from './dispatcher/dispatcher.ts'
export { Pool } from './dispatcher/pool.ts'
export { dns } from './dispatcher/upstream/discovery/dns.ts'
export { UpstreamPool } from './dispatcher/upstream/upstream-pool.ts'
export * as errors from './errors/error-classes.ts'
export { getConnectionInfo } from './fetch/connection-info.ts'
export { fetch } from './fetch/fetch.ts'
export { getGlobalDispatcher, setGlobalDispatcher } from './global/global.ts'
export { connect, pipeline, request, stream, upgrade } from './global/top-level.ts'
export { install, uninstall } from './install.ts'
export { EnvHttpProxyAgent } from './proxy/env-http-proxy-agent.ts'
export { ProxyAgent } from './proxy/proxy-agent.ts'
export { Socks5ProxyAgent } from './proxy/socks5-proxy-agent.ts'
export { toRawHeaders } from './request/headers.ts'
