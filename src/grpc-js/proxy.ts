/**
 * Proxies from the environment, following grpc-js' rules
 * (https://grpc.github.io/grpc/core/md_doc_environment_variables.html).
 *
 * @module
 */

import { once } from 'node:events'
import { request } from 'node:http'
import type { Socket } from 'node:net'
import { isIPv4 } from 'node:net'
import type { ChannelOptions } from '@grpc/grpc-js'
import type { Target } from './target.ts'

/** A proxy that opens tunnels. */
export interface HttpProxy {
  readonly host: string
  readonly port: number
  /** The value of `proxy-authorization`; null for none. */
  readonly authorization: string | null
}

/** A target's proxy; null for none. */
export function toProxy(target: Target, options: ChannelOptions): HttpProxy | null {
  if (options['grpc.enable_http_proxy'] === 0 || target.scheme === 'unix') return null
  const { env } = process
  const given = env.grpc_proxy || env.https_proxy || env.http_proxy
  if (!given || !URL.canParse(given)) return null
  const { protocol, hostname, port, username, password } = new URL(given)
  const [address] = target.addresses
  if (protocol !== 'http:' || address === undefined || !('host' in address)) return null
  if (isExempt(address.host, env.no_grpc_proxy || env.no_proxy || '')) return null
  const user = decodeURIComponent(password === '' ? username : `${username}:${password}`)
  return {
    host: hostname.replace(/^\[|\]$/g, ''),
    port: port === '' ? 80 : Number(port),
    authorization: user === '' ? null : `Basic ${Buffer.from(user).toString('base64')}`,
  }
}

function isExempt(host: string, list: string): boolean {
  return list.split(',').some((given) => {
    const entry = given.trim()
    return entry !== '' && (host.endsWith(entry) || isInNetwork(host, entry))
  })
}

function isInNetwork(host: string, entry: string): boolean {
  const [network = '', bits = '', ...more] = entry.split('/')
  if (more.length > 0 || !/^\d+$/.test(bits) || Number(bits) > 32 || !isIPv4(network) || !isIPv4(host))
    return false
  const size = 2 ** (32 - Number(bits))
  return Math.floor(toNumber(network) / size) === Math.floor(toNumber(host) / size)
}

function toNumber(address: string): number {
  return address.split('.').reduce((sum, part) => sum * 256 + Number(part), 0)
}

/**
 * Opens a tunnel.
 *
 * @throws Error if the proxy can't be reached, or refuses
 */
export async function openTunnel(
  proxy: HttpProxy,
  host: string,
  port: number,
  signal: AbortSignal,
): Promise<Socket> {
  const path = `${host.includes(':') ? `[${host}]` : host}:${port}`
  const headers = {
    host: path,
    ...(proxy.authorization === null ? {} : { 'proxy-authorization': proxy.authorization }),
  }
  const asked = request({
    method: 'CONNECT',
    host: proxy.host,
    port: proxy.port,
    path,
    headers,
    signal,
    agent: false,
  })
  asked.end()
  const [response, socket, head] = await once(asked, 'connect', { signal })
  if (response.statusCode !== 200) {
    socket.destroy()
    throw new Error(`The proxy refused a tunnel to ${path} with status ${response.statusCode}`)
  }
  if (head.length > 0) socket.unshift(head)
  return socket
}
