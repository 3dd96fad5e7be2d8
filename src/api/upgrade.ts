/**
 * `upgrade()`: another protocol on a stream, via extended CONNECT (RFC 8441).
 *
 * @module
 */

import type { Callback } from '../../types/api-methods.ts'
import type { UpgradeOptions } from '../../types/request.ts'
import { invalid } from '../core/validate.ts'
import type { Dispatching } from './api-handler.ts'
import { checkApiOptions, perform } from './api-handler.ts'
import type { TunnelData } from './tunnel-handler.ts'
import { TunnelHandler } from './tunnel-handler.ts'

/**
 * Switches to another protocol on a stream.
 *
 * @returns the response's header fields and the stream: a Duplex whose two sides end separately
 * @throws InvalidArgumentError (the promise rejects) for invalid options, NotSupportedError if the peer doesn't offer
 *   extended CONNECT, TunnelRefusedError if the response isn't 2xx, and the error of a failed call
 */
export function upgrade<TOpaque>(
  dispatcher: Dispatching,
  options: UpgradeOptions<TOpaque>,
  callback?: Callback<TunnelData<TOpaque>>,
): Promise<TunnelData<TOpaque>> | undefined {
  return perform<TunnelData<TOpaque>>(options, callback, (settle) => {
    checkApiOptions(options)
    const { protocol, method } = options
    if (protocol !== undefined && protocol !== null && typeof protocol !== 'string') {
      throw invalid('protocol', protocol, "a protocol name, such as 'websocket'")
    }
    const handler = new TunnelHandler(options, settle, `an upgrade to ${protocol || 'websocket'}`)
    handler.dispatchBy(dispatcher, { ...options, method: method || 'GET', upgrade: protocol || 'Websocket' })
  })
}
