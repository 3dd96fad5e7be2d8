/**
 * How a target's connections are opened: TCP or a Unix socket, possibly a tunnel, and TLS with the channel credentials.
 *
 * @module
 */

import { once } from 'node:events'
import type { Socket } from 'node:net'
import { connect } from 'node:net'
import type { PoolOptions } from '../index.ts'
import type { SecureConnector } from './grpc.ts'
import type { HttpProxy } from './proxy.ts'
import { openTunnel } from './proxy.ts'
import type { Address } from './target.ts'

/** How a Pool connects. */
export type Connector = Extract<NonNullable<PoolOptions['connect']>, (...given: never[]) => unknown>

/** How long one address gets, including TLS, in milliseconds. */
const CONNECT_TIMEOUT = 20_000

/** A connect function for one target's addresses: it uses the first one that can be reached, in their order. */
export function toConnector(
  addresses: readonly Address[],
  proxy: HttpProxy | null,
  secure: SecureConnector,
): Connector {
  return async () => {
    await secure.waitForReady()
    let failure: unknown
    for (const address of addresses) {
      try {
        return await dial(address, proxy, secure)
      } catch (error) {
        failure ??= error
      }
    }
    throw failure ?? new Error('The target has no address')
  }
}

async function dial(address: Address, proxy: HttpProxy | null, secure: SecureConnector): Promise<Socket> {
  const signal = AbortSignal.timeout(CONNECT_TIMEOUT)
  const socket = await open(address, proxy, signal)
  const onLate = (): unknown => socket.destroy(signal.reason)
  signal.addEventListener('abort', onLate)
  try {
    return (await secure.connect(socket)).socket
  } catch (error) {
    socket.destroy()
    throw error
  } finally {
    signal.removeEventListener('abort', onLate)
  }
}

async function open(address: Address, proxy: HttpProxy | null, signal: AbortSignal): Promise<Socket> {
  if (proxy !== null && 'host' in address) return openTunnel(proxy, address.host, address.port, signal)
  const socket = connect(address)
  // Its session, or TLS, is told about its end, too. Until then, an error must not be an uncaught exception.
  socket.on('error', ignore)
  try {
    await once(socket, 'connect', { signal })
    return socket
  } catch (error) {
    socket.destroy()
    throw error
  }
}

function ignore(): void {}
