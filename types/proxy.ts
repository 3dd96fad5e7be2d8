import type { AgentOptions, ConnectTlsOptions } from './client.ts'
import type { Dispatcher } from './dispatcher.ts'
import type { RequestHeaders } from './headers.ts'

/** The second argument of {@link ProxyAgentOptions.clientFactory}: how to connect to the proxy. */
export interface ProxyClientOptions {
  /** The same as {@link ProxyOptions.proxyTls}. */
  connect: ConnectTlsOptions
  /** How many milliseconds a connection attempt may take. `0`: no limit. */
  connectTimeout: number
}

/** Options for connections through a proxy. */
export interface ProxyOptions {
  /**
   * The value of `proxy-authorization` (RFC 9110 §11.7.2), such as `'Bearer …'`. It overrides the credentials in the
   * proxy URL.
   *
   * @default null
   */
  token?: string | null | undefined

  /** Credentials for the Basic scheme, in Base64: `btoa('user:password')`. Not with `token`. @default null */
  auth?: string | null | undefined

  /**
   * Header fields for the proxy, or a function that returns them. Dodici calls the function for each connection through
   * the proxy, and for each forwarded request. The origin doesn't receive them.
   *
   * @default {}
   */
  headers?: RequestHeaders | (() => RequestHeaders) | null | undefined

  /** Options for the socket and TLS of connections to the proxy, such as `ca` or `servername`. @default {} */
  proxyTls?: ConnectTlsOptions | null | undefined

  /** Options for TLS with the origin, inside the tunnel. @default the `connect` option */
  requestTls?: ConnectTlsOptions | null | undefined

  /**
   * Whether requests to `http:` origins go through a tunnel, too. `false`: Dodici sends them to the proxy in absolute
   * form (RFC 9112 §3.2.2). Upgrades, CONNECT, and origins that `h2c` selects always go through a tunnel.
   *
   * @default false
   */
  proxyTunnel?: boolean | null | undefined

  /**
   * Creates the dispatcher that opens tunnels through an HTTP proxy. Dodici's Pool needs `h2c: false` for an `http:`
   * proxy.
   *
   * @default (url, options) => new Pool(url, options), which uses HTTP/2 or HTTP/1.1 via ALPN with an `https:` proxy
   */
  clientFactory?: ((url: URL, options: ProxyClientOptions) => Dispatcher) | null | undefined

  /** The user name for a SOCKS5 proxy (RFC 1929). @default the one in the proxy URL */
  username?: string | null | undefined

  /** The password for a SOCKS5 proxy. @default the one in the proxy URL */
  password?: string | null | undefined

  /**
   * Options for TLS and the socket. A function isn't accepted: connections go to the proxy. See `proxyTls`,
   * `requestTls`.
   *
   * @default {}
   */
  connect?: ConnectTlsOptions | null | undefined
}

/** `ProxyAgent` options: the proxy, how to connect to it, and the options of an `Agent`. */
export interface ProxyAgentOptions extends Omit<AgentOptions, keyof ProxyOptions>, ProxyOptions {
  /**
   * The proxy URL: `http:`, `https:`, `socks5:` or `socks:`. It may contain credentials: only the proxy receives them,
   * and no error shows them.
   */
  uri: string | URL
}

/** `Socks5ProxyAgent` options: the `ProxyAgent` options that don't concern HTTP proxies. */
export interface Socks5ProxyAgentOptions
  extends Omit<ProxyAgentOptions, 'uri' | 'token' | 'auth' | 'headers' | 'clientFactory' | 'proxyTunnel'> {}

/** `EnvHttpProxyAgent` options: which proxy to use for which hosts, and the options of a `ProxyAgent`. */
export interface EnvHttpProxyAgentOptions extends Omit<ProxyAgentOptions, 'uri'> {
  /** The proxy for `http:` origins. @default the environment's `http_proxy`, else `HTTP_PROXY` */
  httpProxy?: string | null | undefined
  /** The proxy for `https:` origins. @default the environment's `https_proxy`, else `HTTPS_PROXY`, else `httpProxy` */
  httpsProxy?: string | null | undefined
  /**
   * Hosts to reach without a proxy: see `NO_PROXY` in docs/proxies.md.
   *
   * @default the environment's `no_proxy`, else `NO_PROXY`, as they are when a request is made
   */
  noProxy?: string | null | undefined
}
