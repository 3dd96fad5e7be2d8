/**
 * The caller's connect function: whichever way it yields a socket.
 *
 * @module
 */

import type { Connector, ConnectorOptions } from '../../../types/client.ts'
import { originalNextTick } from '../../core/original-timers.ts'
import { isPromiseLike } from '../../core/realms.ts'
import { ignoreLateError, isSocket } from './socket.ts'

/**
 * Asks a connector of the caller's for a socket. One of the two functions is called, never from within; `onSocket` for
 * each time that the connector yields something.
 */
export function askConnector(
  connector: Connector,
  options: ConnectorOptions,
  onSocket: (socket: unknown) => void,
  onError: (error: unknown) => void,
): void {
  try {
    const promise: unknown = connector(options, (error, socket) => {
      // It may have failed already: its error comes a tick later, too, and is no uncaught exception.
      if (isSocket(socket)) socket.on('error', ignoreLateError)
      // Node's own way of calling back may be synchronous; ours never is.
      if (error !== null && error !== undefined) originalNextTick(onError, error)
      else originalNextTick(onSocket, socket)
    })
    // undici's connectors call back and return the socket as well: only a promise is a response.
    if (!isPromiseLike(promise)) return
    Promise.resolve(promise).then((socket) => {
      // An async function that calls back fulfils with undefined, and may do so before (undici's ProxyAgent has one).
      if (socket !== undefined) onSocket(socket)
    }, onError)
  } catch (thrown) {
    originalNextTick(onError, thrown)
  }
}
