/** Requests, and what the constructor says of options that it refuses. */

import { toClientOptions, toOrigin } from '../../../src/options/options.ts'
import { Request } from '../../../src/request/request.ts'
import type { ClientOptions } from '../../../types/client.ts'
import type { DispatchOptions } from '../../../types/request.ts'
import { toThrown } from '../thrown.ts'

export const ORIGIN = toOrigin('https://example.com:8443')

/** A request with these options; a GET of `/` unless they say something else. */
export function make(options: Partial<DispatchOptions> = {}, client: ClientOptions = {}): Request {
  return new Request({ method: 'GET', path: '/', ...options }, ORIGIN, toClientOptions(client))
}

/** What the constructor throws when JavaScript calls it, with anything at all. */
export function toRefusal(options: object): Error {
  return toThrown(() =>
    Reflect.construct(Request, [{ method: 'GET', path: '/', ...options }, ORIGIN, toClientOptions({})]),
  )
}
