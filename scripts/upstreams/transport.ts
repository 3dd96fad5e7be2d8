/**
 * One request to one server of the simulation.
 *
 * @module
 */

import { ConnectError, HeadersTimeoutError, SocketError } from '../../src/errors/errors.ts'
import type { Server, VirtualTime } from './world.ts'

/** No response header by then: the client resets the request. Milliseconds. */
export const HEADERS_TIMEOUT = 1_000

/**
 * One request to one server.
 *
 * @param onEnd gets the status of the response with its `retry-after`, or the error
 * @returns resets the request, with an error
 */
export function send(
  time: VirtualTime,
  server: Server,
  onEnd: (status: number, retryAfter: number | null, error: Error | null) => void,
): (error: Error) => void {
  let isOver = false
  const end = (status: number, retryAfter: number | null, error: Error | null): void => {
    if (isOver) return
    isOver = true
    alarm.cancel()
    onEnd(status, retryAfter, error)
  }
  const alarm = time.after(HEADERS_TIMEOUT, () => {
    reset()
    end(0, null, new HeadersTimeoutError('No response', { processed: 'maybe' }))
  })
  const reset = server.handle((reply) => {
    if (reply.kind === 'response') end(reply.status, reply.retryAfter, null)
    else if (reply.kind === 'refused') end(0, null, new ConnectError('Refused', { processed: 'no' }))
    else end(0, null, new SocketError('Lost', { processed: 'maybe' }))
  })
  return (error) => {
    reset()
    end(0, null, error)
  }
}
