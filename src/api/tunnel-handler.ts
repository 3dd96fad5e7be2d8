/**
 * What `connect()` and `upgrade()` share: the outcome is a tunnel, or an error.
 *
 * @module
 */

import type { Duplex } from 'node:stream'
import type { Callback } from '../../types/api-methods.ts'
import type { DispatchController, DispatchHandler } from '../../types/handler.ts'
import type { IncomingHttpHeaders } from '../../types/headers.ts'
import type { HeaderForm } from '../../types/request.ts'
import type { ConnectData } from '../../types/response.ts'
import { TunnelRefusedError } from '../errors/errors.ts'
import type { ApiOptions } from './api-handler.ts'
import { ApiHandler, toNoHeaderError } from './api-handler.ts'

/** The result, for the caller. */
export type TunnelData<TOpaque> = ConnectData<TOpaque, HeaderForm>

/** Gives the caller the tunnel. From then on it is the caller's: a signal no longer ends it. */
export class TunnelHandler<TOpaque>
  extends ApiHandler<TOpaque, TunnelData<TOpaque>>
  implements DispatchHandler
{
  readonly #what: string

  /** @param what how an error names the tunnel */
  constructor(options: ApiOptions<TOpaque>, callback: Callback<TunnelData<TOpaque>>, what: string) {
    super(options, callback)
    this.#what = what
  }

  onResponseStart(controller: DispatchController, statusCode: number, headers: IncomingHttpHeaders): void {
    if (statusCode < 200) this.inform(controller, statusCode, headers)
    else
      throw new TunnelRefusedError(`The server refused ${this.#what} with status ${statusCode}`, statusCode)
  }

  onRequestUpgrade(
    controller: DispatchController,
    statusCode: number,
    headers: IncomingHttpHeaders,
    socket: Duplex,
  ): void {
    this.removeSignal()
    const isTaken = this.succeed({
      statusCode,
      headers: this.toHanded(controller, headers),
      socket,
      opaque: this.opaque,
      context: this.context as object,
    })
    if (!isTaken) socket.destroy()
  }

  /** A response without a tunnel has already failed the call. */
  onResponseData(): void {}

  onResponseEnd(): void {
    if (!this.isSettled) this.fail(toNoHeaderError())
  }

  onResponseError(_controller: DispatchController, error: Error): void {
    this.fail(error)
  }
}
