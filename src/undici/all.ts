/**
 * Every name in undici 6, 7 and 8. `names.ts` says where each comes from.
 *
 * @module
 */

export { Agent, errors } from '../index.ts'
export { BalancedPool } from './balanced-pool.ts'
export { Client, Pool } from './clients.ts'
export { Dispatcher } from './dispatcher.ts'
export {
  connect,
  fetch,
  getGlobalDispatcher,
  getGlobalOrigin,
  install,
  pipeline,
  request,
  setGlobalDispatcher,
  setGlobalOrigin,
  stream,
  upgrade,
} from './global.ts'
export { MockAgent, SnapshotAgent } from './mock-agent.ts'
export { File, FormData, Headers, Request, Response } from './node.ts'
export { EnvHttpProxyAgent, ProxyAgent } from './proxy-agents.ts'
export {
  buildConnector,
  CloseEvent,
  cacheStores,
  caches,
  createRedirectInterceptor,
  DecoratorHandler,
  Dispatcher1Wrapper,
  deleteCookie,
  ErrorEvent,
  EventSource,
  FileReader,
  getCookies,
  getSetCookies,
  H2CClient,
  interceptors,
  MessageEvent,
  MockCallHistory,
  MockCallHistoryLog,
  MockClient,
  MockPool,
  mockErrors,
  parseCookie,
  parseMIMEType,
  ping,
  RedirectHandler,
  RetryAgent,
  RetryHandler,
  RoundRobinPool,
  Socks5ProxyAgent,
  serializeAMimeType,
  setCookie,
  util,
  WebSocket,
  WebSocketError,
  WebSocketStream,
} from './theirs.ts'
