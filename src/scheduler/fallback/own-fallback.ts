/**
 * A fallback that Dodici makes itself.
 *
 * @module
 */

import type { FallbackDispatcher } from '../../../types/client.ts'
import type { AnyDispatchHandler } from '../../../types/handler.ts'
import type { DispatchOptions } from '../../../types/request.ts'
import type { Http2Takers } from '../../session/connect/http2-takers.ts'
import type { FallbackEvents } from './fallback-events.ts'

/** Its connections are made by our own code, and may choose HTTP/2. One may serve several origins. */
export abstract class OwnFallback implements FallbackDispatcher {
  /** The origins that it serves. */
  abstract readonly takers: Http2Takers
  /** The dispatchers of these origins, which emit the events of its connections. */
  abstract readonly events: FallbackEvents
  abstract dispatch(options: DispatchOptions, handler: AnyDispatchHandler): boolean
  /** Settles when its connections are gone. */
  abstract destroy(error: Error | null): Promise<void>
}
