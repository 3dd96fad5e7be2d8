/**
 * `connect()`: a tunnel through the server to an authority (RFC 9113 §8.5).
 *
 * @module
 */

import type { Callback } from '../../types/api-methods.ts'
import type { ConnectOptions } from '../../types/request.ts'
import type { Dispatching } from './api-handler.ts'
import { checkApiOptions, perform } from './api-handler.ts'
import type { TunnelData } from './tunnel-handler.ts'
import { TunnelHandler } from './tunnel-handler.ts'

/**
 * Opens a tunnel.
 *
 * @returns the response's status and header fields, and the tunnel: a Duplex whose two sides end separately
 * @throws InvalidArgumentError (the promise rejects) for invalid options, TunnelRefusedError if the response isn't
 *   2xx, and the error of a failed call
 */
export function connect<TOpaque>(
  dispatcher: Dispatching,
  options: ConnectOptions<TOpaque>,
  callback?: Callback<TunnelData<TOpaque>>,
): Promise<TunnelData<TOpaque>> | undefined {
  return perform<TunnelData<TOpaque>>(options, callback, (settle) => {
    checkApiOptions(options)
    const handler = new TunnelHandler(options, settle, `a tunnel to ${options.path}`)
    handler.dispatchBy(dispatcher, { ...options, method: 'CONNECT' })
  })
}
