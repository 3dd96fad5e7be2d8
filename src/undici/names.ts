/**
 * Where each of undici's names comes from in the entry `dodici/undici`.
 *
 * @module
 */

/** A major version of undici. */
export type Major = 6 | 7 | 8

/**
 * - `dodici`: Dodici's export, with undici's meaning.
 * - `both`: this entry's function or class, over Dodici's, undici's, or both.
 * - `node`: Node's global, which Dodici's fetch uses; undici's objects are accepted as input, too.
 * - `undici`: the installed undici's export.
 */
export type Owner = 'dodici' | 'both' | 'node' | 'undici'

/** One of undici's names. */
export interface Name {
  readonly owner: Owner
  /** The major versions of undici that have it. */
  readonly since: readonly Major[]
}

const ALL: readonly Major[] = [6, 7, 8]
const FROM_7: readonly Major[] = [7, 8]
const ONLY_6: readonly Major[] = [6]

const by = (owner: Owner, since: readonly Major[], ...names: string[]): [string, Name][] =>
  names.map((name) => [name, { owner, since }])

/** Every export of undici 6, 7 and 8. */
export const NAMES: ReadonlyMap<string, Name> = new Map([
  ...by('dodici', ALL, 'Agent', 'errors'),
  ...by('both', ALL, 'connect', 'pipeline', 'request', 'stream', 'upgrade'),
  ...by('both', ALL, 'BalancedPool', 'Client', 'Dispatcher', 'MockAgent', 'Pool'),
  ...by('both', ALL, 'EnvHttpProxyAgent', 'ProxyAgent'),
  ...by('both', ALL, 'fetch', 'getGlobalDispatcher', 'setGlobalDispatcher'),
  ...by('both', ALL, 'getGlobalOrigin', 'setGlobalOrigin'),
  ...by('both', FROM_7, 'SnapshotAgent', 'install'),
  ...by('node', ALL, 'FormData', 'Headers', 'Request', 'Response'),
  ...by('node', ONLY_6, 'File'),
  ...by('undici', ALL, 'RetryAgent'),
  ...by('undici', ALL, 'DecoratorHandler', 'RedirectHandler', 'RetryHandler', 'interceptors'),
  ...by('undici', ALL, 'MockClient', 'MockPool', 'mockErrors', 'buildConnector', 'util'),
  ...by('undici', ALL, 'CloseEvent', 'ErrorEvent', 'EventSource', 'MessageEvent', 'WebSocket'),
  ...by('undici', ALL, 'caches', 'deleteCookie', 'getCookies', 'getSetCookies', 'setCookie'),
  ...by('undici', ALL, 'parseMIMEType', 'serializeAMimeType'),
  ...by('undici', FROM_7, 'H2CClient', 'RoundRobinPool', 'Socks5ProxyAgent'),
  ...by('undici', FROM_7, 'MockCallHistory', 'MockCallHistoryLog', 'cacheStores', 'parseCookie'),
  ...by('undici', FROM_7, 'WebSocketError', 'WebSocketStream', 'ping'),
  ...by('undici', [8], 'Dispatcher1Wrapper'),
  ...by('undici', ONLY_6, 'FileReader', 'createRedirectInterceptor'),
])
