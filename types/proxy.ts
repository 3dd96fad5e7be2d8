import type { AgentOptions, ConnectTlsOptions } from './client.ts'
import type { Dispatcher } from './dispatcher.ts'
import type { RequestHeaders } from './headers.ts'

/** What a {@link ProxyAgentOptions.clientFactory} gets: how to connect to the proxy. */
export interface ProxyClientOptions {
  /** {@link ProxyAgentOptions.proxyTls}. */
  connect: ConnectTlsOptions
  /** Milliseconds; `0`: no limit. */
  connectTimeout: number
}

/** The options of connections through a proxy. */
export interface ProxyOptions {
  /**
   * The value of `proxy-authorization` (RFC 9110 §11.7.2), such as `'Bearer …'`. It wins over the credentials of the
   * proxy's URL.
   */
  token?: string | null | undefined

  /** Credentials for the scheme Basic, in Base64: `btoa('user:password')`. Not together with `token`. */
  auth?: string | null | undefined

  /**
   * Header fields for the proxy, or a function that makes them. The function is called for each connection through the
   * proxy, and for each request that is forwarded. The origin doesn't get them.
   */
  headers?: RequestHeaders | (() => RequestHeaders) | null | undefined

  /** Options for the socket and TLS of connections to the proxy: `ca`, `cert`, `key`, `servername`, … @default {} */
  proxyTls?: ConnectTlsOptions | null | undefined

  /** Options for TLS with the origin, inside the tunnel. @default the `connect` option */
  requestTls?: ConnectTlsOptions | null | undefined

  /**
   * Whether requests to `http:` origins go through a tunnel as well. `false`: they are sent to the proxy in absolute
   * form (RFC 9112 §3.2.2). Upgrades, CONNECT, and origins that speak HTTP/2 by `h2c` always go through a tunnel.
   *
   * @default false
   */
  proxyTunnel?: boolean | null | undefined

  /**
   * Makes the dispatcher that opens tunnels through an HTTP proxy. A Pool of Dodici needs `h2c: false` for an
   * `http:` proxy.
   *
   * @default (url, options) => new Pool(url, options), which speaks HTTP/2 or HTTP/1.1 by ALPN with an `https:` proxy
   */
  clientFactory?: ((url: URL, options: ProxyClientOptions) => Dispatcher) | null | undefined

  /** The user's name at a SOCKS5 proxy (RFC 1929). It wins over that of the proxy's URL. */
  username?: string | null | undefined

  /** The user's password at a SOCKS5 proxy. It wins over that of the proxy's URL. */
  password?: string | null | undefined

  /** TLS and socket options; a function isn't accepted: connections go to the proxy. See `proxyTls`, `requestTls`. */
  connect?: ConnectTlsOptions | null | undefined
}

/** The options of a `ProxyAgent`. */
export interface ProxyAgentOptions extends Omit<AgentOptions, keyof ProxyOptions>, ProxyOptions {
  /**
   * The proxy's URL: `http:`, `https:`, `socks5:` or `socks:`. It may have credentials: they go to the proxy alone, and
   * no error shows them.
   */
  uri: string | URL
}

/** The options of a `Socks5ProxyAgent`: those of a `ProxyAgent`, less what only HTTP has. */
export interface Socks5ProxyAgentOptions
  extends Omit<ProxyAgentOptions, 'uri' | 'token' | 'auth' | 'headers' | 'clientFactory' | 'proxyTunnel'> {}

/** The options of an `EnvHttpProxyAgent`. */
export interface EnvHttpProxyAgentOptions extends Omit<ProxyAgentOptions, 'uri'> {
  /** The proxy for `http:` origins. @default the environment's `http_proxy`, else `HTTP_PROXY` */
  httpProxy?: string | null | undefined
  /** The proxy for `https:` origins. @default the environment's `https_proxy`, else `HTTPS_PROXY`, else `httpProxy` */
  httpsProxy?: string | null | undefined
  /**
   * Hosts that are reached without a proxy: see `NO_PROXY` in docs/proxies.md.
   *
   * @default the environment's `no_proxy`, else `NO_PROXY`, as they are when a request is made
   */
  noProxy?: string | null | undefined
}
