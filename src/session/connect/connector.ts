/**
 * Calls the caller's connect function, and gets its socket from a callback or a promise.
 *
 * @module
 */

import type { Connector, ConnectorOptions } from '../../../types/client.ts'
import { noop } from '../../core/noop.ts'
import { originalNextTick } from '../../core/original-timers.ts'
import { isPromiseLike } from '../../core/realms.ts'
import { isSocket } from './socket.ts'

/**
 * Asks the caller's connect function for a socket. It calls one of the two functions, never during this call.
 * `onSocket` is called each time the connect function provides a value.
 */
export function askConnector(
  connector: Connector,
  options: ConnectorOptions,
  onSocket: (socket: unknown) => void,
  onError: (error: unknown) => void,
): void {
  try {
    const promise: unknown = connector(options, (error, socket) => {
      // The socket may have failed already. Its error comes a tick later, and must not be an uncaught exception.
      if (isSocket(socket)) socket.on('error', noop)
      // The connect function may call back synchronously; `onSocket` and `onError` never are.
      if (error !== null && error !== undefined) originalNextTick(onError, error)
      else originalNextTick(onSocket, socket)
    })
    // undici's connectors call back and also return the socket: only a promise counts as a result.
    if (!isPromiseLike(promise)) return
    Promise.resolve(promise).then((socket) => {
      // An async function that calls back fulfils its promise with undefined, maybe before it calls back (undici's
      // ProxyAgent has such a function).
      if (socket !== undefined) onSocket(socket)
    }, onError)
  } catch (thrown) {
    originalNextTick(onError, thrown)
  }
}
