/**
 * undici's ProxyAgent and EnvHttpProxyAgent over Dodici's dispatchers.
 *
 * @module
 */

import type { ConnectOptions } from '../../types/request.ts'
import { Dispatcher } from '../index.ts'
import { installed, toName } from './installed.ts'
import { recogniseParents } from './symbols.ts'

type Factory = (origin: string | URL, options: object) => unknown

interface ProxyAgentOptions {
  /** Creates the dispatchers for origins, and those that forward requests to the proxy. */
  readonly factory?: Factory
  /** Creates the proxy's client. */
  readonly clientFactory?: Factory
}

type ProxyAgentClass = new (options?: unknown) => object

/** undici's Client. */
type DispatcherClass = new (origin: string | URL, options: object) => object

/**
 * Whether the dispatcher has to forward requests to the proxy (`proxyTunnel: false`), instead of sending them to an
 * origin. undici's Agent has more options than this one.
 */
function isForwarder(options: object): boolean {
  const [name, ...others] = Object.keys(options)
  return name === 'connect' && others.length === 0
}

/**
 * A forwarding proxy gets an HTTP/1.1 request for a URL (RFC 9112 §3.2.2), through one of undici's own methods.
 * Dodici's dispatchers support neither, so undici's Client does it, as without a factory.
 */
function toForwarding(factory: Factory, Client: DispatcherClass): Factory {
  return (origin, options) => {
    const made = factory(origin, options)
    if (!(made instanceof Dispatcher) || !isForwarder(options)) return made
    void made.close()
    return new Client(origin, options)
  }
}

/** undici's agent sends a field that belongs to one HTTP/1.1 connection (RFC 9113 §8.2.2). Proxies don't need it. */
function toProxyClient(dispatcher: Dispatcher): void {
  const connect = dispatcher.connect.bind(dispatcher)
  const value = ({ headers, ...options }: ConnectOptions<unknown>) => {
    const { 'proxy-connection': _connection, ...fields } = Object(headers)
    return connect({ ...options, headers: fields })
  }
  Object.defineProperty(dispatcher, 'connect', { value, configurable: true, writable: true })
}

function toClientFactory(factory: Factory): Factory {
  return (origin, options) => {
    const made = factory(origin, options)
    if (made instanceof Dispatcher) toProxyClient(made)
    return made
  }
}

/** The options with factories that may create Dodici's dispatchers. undici refuses what isn't a function. */
function toOptions(options: unknown, Client: DispatcherClass): unknown {
  if (typeof options !== 'object' || options === null || options instanceof URL) return options
  const { factory, clientFactory }: ProxyAgentOptions = options
  return {
    ...options,
    ...(typeof factory === 'function' ? { factory: toForwarding(factory, Client) } : {}),
    ...(typeof clientFactory === 'function' ? { clientFactory: toClientFactory(clientFactory) } : {}),
  }
}

function toProxyAgent(parent: ProxyAgentClass, Client: DispatcherClass): ProxyAgentClass {
  class ProxyAgent extends parent {
    constructor(options?: unknown) {
      super(toOptions(options, Client))
    }
  }
  recogniseParents(ProxyAgent)
  return ProxyAgent
}

function isProxyAgentClass(value: unknown): value is ProxyAgentClass {
  return typeof value === 'function'
}

function isDispatcherClass(value: unknown): value is DispatcherClass {
  return typeof value === 'function'
}

function wrap(name: 'ProxyAgent' | 'EnvHttpProxyAgent'): unknown {
  if (installed.state !== 'loaded') return toName(name, installed)
  const theirs: unknown = Reflect.get(installed.names, name)
  const { Client }: { Client?: unknown } = installed.names
  if (!isProxyAgentClass(theirs) || !isDispatcherClass(Client)) return toName(name, installed)
  return toProxyAgent(theirs, Client)
}

/** undici's ProxyAgent; its options `factory` and `clientFactory` may create Dodici's dispatchers. */
export const ProxyAgent = wrap('ProxyAgent')

/** undici's EnvHttpProxyAgent; its options `factory` and `clientFactory` may create Dodici's dispatchers. */
export const EnvHttpProxyAgent = wrap('EnvHttpProxyAgent')
