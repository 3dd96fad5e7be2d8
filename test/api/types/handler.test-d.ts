import type { Duplex } from 'node:stream'
import type * as undici6 from 'undici-types-6'
import type * as undici7 from 'undici-types-7'
import type * as undici8 from 'undici-types-8'
import type {
  AnyDispatchHandler,
  DispatchController,
  Dispatcher,
  DispatchHandler,
  IncomingHttpHeaders,
  LegacyDispatchHandler,
  RawHeaders,
} from '../../../types/index.ts'
import type { Equal, Expect } from './expect.ts'

declare const dispatcher: Dispatcher
declare const controller: DispatchController

// Read, rawHeaders is one thing; assigned, it takes what undici's interceptors assign.
export type Read = Expect<Equal<DispatchController['rawHeaders'], string[] | null>>
export type ReadTrailers = Expect<Equal<DispatchController['rawTrailers'], string[] | null>>
export type Raw = Expect<Equal<RawHeaders, string[]>>
export type Reason = Expect<Equal<DispatchController['reason'], Error | null>>
export type Lasting = Expect<Equal<DispatchController['hasLastingRawHeaders'], boolean | undefined>>
export function useController() {
  // @ts-expect-error: only the dispatcher says so
  controller.hasLastingRawHeaders = true
  controller.rawHeaders = ['name', 'value']
  controller.rawHeaders = [Buffer.from('name'), Buffer.from('value')]
  controller.rawHeaders = { name: 'value', list: ['a', 'b'], none: undefined }
  controller.rawHeaders = null
  controller.rawHeaders = undefined
  controller.rawTrailers = [Buffer.from('name'), Buffer.from('value')]
  controller.rawTrailers = null
  // @ts-expect-error: a number is no header list
  controller.rawHeaders = 1
  // @ts-expect-error: a Map is no header list
  controller.rawTrailers = new Map([['name', 'value']])
  // @ts-expect-error: only the dispatcher says so
  controller.aborted = true
  // @ts-expect-error: a reason is an Error
  controller.abort('enough')
  // @ts-expect-error: null until a response came
  controller.rawHeaders.splice(0, 2)
  controller.rawHeaders?.splice(0, 2)
  controller.abort()
  controller.abort(new Error('enough'))
  controller.reprioritize?.({ urgency: 0, incremental: true })
  controller.reprioritize?.({})
  // @ts-expect-error: a controller that isn't ours may have no such method
  controller.reprioritize({ urgency: 0 })
  // @ts-expect-error: none is said by an empty object
  controller.reprioritize?.(null)
  // @ts-expect-error: a level is a number
  controller.reprioritize?.({ urgency: 'high' })
}

// A class implements it with accessors.
export class ExampleController implements DispatchController {
  readonly paused = false
  readonly aborted = false
  readonly reason = null
  #rawHeaders: string[] | null = null

  get rawHeaders(): string[] | null {
    return this.#rawHeaders
  }

  set rawHeaders(value: Buffer[] | string[] | IncomingHttpHeaders | null | undefined) {
    this.#rawHeaders = Array.isArray(value) ? value.map(String) : null
  }

  get rawTrailers(): string[] | null {
    return null
  }

  set rawTrailers(_value: Buffer[] | string[] | IncomingHttpHeaders | null | undefined) {}

  abort(): void {}
  pause(): void {}
  resume(): void {}
}

// Ours is undici 8's: a handler that was written for undici 8 gets what it expects, and undici 8 may call ours.
export const controller7: undici7.Dispatcher.DispatchController = controller
export const controller8: undici8.Dispatcher.DispatchController = controller
declare const native: DispatchHandler
export const native8: undici8.Dispatcher.DispatchHandler = native

// dispatch() takes the handlers of every undici, and the hybrid that Node 24's fetch gives.
declare const handlers6: undici6.Dispatcher.DispatchHandlers
declare const handler7: undici7.Dispatcher.DispatchHandler
declare const handler8: undici8.Dispatcher.DispatchHandler
declare const retry6: undici6.RetryHandler
declare const options6: undici6.Dispatcher.DispatchOptions
declare const options7: undici7.Dispatcher.DispatchOptions
declare const options8: undici8.Dispatcher.DispatchOptions
export const legacy6: LegacyDispatchHandler = handlers6
export const legacy7: LegacyDispatchHandler = handler7
export const ours8: DispatchHandler = handler8
export function useDispatch(handler: AnyDispatchHandler) {
  dispatcher.dispatch(options6, handlers6)
  dispatcher.dispatch(options7, handler7)
  dispatcher.dispatch(options8, handler8)
  dispatcher.dispatch(options8, handler)
  dispatcher.dispatch(options6, retry6)
  dispatcher.dispatch(
    { path: '/', method: 'GET' },
    {
      onRequestStart(controller, context) {
        const known: Equal<typeof context, unknown> = true
        if (known && context !== null) controller.pause()
      },
      onResponseStart(_controller, statusCode, headers, statusMessage) {
        const server: string | string[] | undefined = headers.server
        return [statusCode + 1, server, statusMessage?.length]
      },
      onResponseData(_controller, chunk) {
        return chunk.readUInt8()
      },
      onResponseEnd(_controller, trailers) {
        return trailers['grpc-status']
      },
      onResponseError(_controller, error) {
        return error.message
      },
      onRequestUpgrade(_controller, _statusCode, _headers, socket) {
        socket.end()
      },
    },
  )
  dispatcher.dispatch(
    { path: '/', method: 'GET' },
    {
      onConnect(abort: (reason?: Error) => void) {
        abort(new Error('enough'))
      },
      onHeaders(statusCode: number, headers: Buffer[], resume: () => void, statusText: string) {
        resume()
        return headers.length > statusCode && statusText !== ''
      },
      onData: () => true,
      onComplete(trailers: string[] | null) {
        return trailers?.length
      },
      onError(error: Error) {
        return error.message
      },
      onUpgrade(_statusCode: number, _headers: Buffer[] | string[] | null, socket: Duplex) {
        socket.end()
      },
      onRequestUpgrade() {},
    },
  )
  // @ts-expect-error: no shape has such a callback
  dispatcher.dispatch({ path: '/', method: 'GET' }, { onHeader() {} })
  // @ts-expect-error: onData says whether to go on
  const pausing: LegacyDispatchHandler = { onData: () => 'yes' }
  // @ts-expect-error: a status is a number
  const wrong: DispatchHandler = { onResponseStart(_controller, _statusCode: string) {} }
  return [pausing, wrong]
}
