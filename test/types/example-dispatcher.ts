/**
 * How a class declares itself a `Dispatcher`: compiled, never run. `src/dispatcher/dispatcher.ts` has the same outline.
 *
 * Nothing is declared for the events: `EventEmitter<DispatcherEvents>` types them. The implementation of an overload gives
 * `unknown`, to which each of its overloads is compatible, so that no cast is needed for undici's type of the body.
 */

import { EventEmitter } from 'node:events'
import type { Duplex } from 'node:stream'
import type {
  AnyDispatchHandler,
  Callback,
  CallSignal,
  ComposedDispatcher,
  ConnectData,
  ConnectOptions,
  Dispatcher,
  DispatcherComposeInterceptor,
  DispatcherEvents,
  DispatchOptions,
  PipelineHandler,
  PipelineOptions,
  RequestOptions,
  ResponseData,
  StreamData,
  StreamFactory,
  UndiciBodyReadable,
  UpgradeData,
  UpgradeOptions,
} from '../../types/index.ts'

export abstract class ExampleDispatcher extends EventEmitter<DispatcherEvents> implements Dispatcher {
  abstract dispatch(options: DispatchOptions, handler: AnyDispatchHandler): boolean

  compose(interceptors: DispatcherComposeInterceptor[]): ComposedDispatcher
  compose(...interceptors: DispatcherComposeInterceptor[]): ComposedDispatcher
  compose(
    ..._interceptors: DispatcherComposeInterceptor[] | [DispatcherComposeInterceptor[]]
  ): ComposedDispatcher {
    return this
  }

  request<TOpaque = null, TSignal extends CallSignal = CallSignal>(
    options: RequestOptions<TOpaque, TSignal>,
    callback: Callback<ResponseData<TOpaque, UndiciBodyReadable>>,
  ): void
  request<TOpaque = null, TSignal extends CallSignal = CallSignal>(
    options: RequestOptions<TOpaque, TSignal>,
  ): Promise<ResponseData<TOpaque, UndiciBodyReadable>>
  request(
    options: RequestOptions<unknown>,
    callback?: Callback<ResponseData<unknown, UndiciBodyReadable>>,
  ): unknown {
    return [options, callback]
  }

  stream<TOpaque = null, TSignal extends CallSignal = CallSignal>(
    options: RequestOptions<TOpaque, TSignal>,
    factory: StreamFactory<TOpaque>,
    callback: Callback<StreamData<TOpaque>>,
  ): void
  stream<TOpaque = null, TSignal extends CallSignal = CallSignal>(
    options: RequestOptions<TOpaque, TSignal>,
    factory: StreamFactory<TOpaque>,
  ): Promise<StreamData<TOpaque>>
  stream(
    options: RequestOptions<unknown>,
    factory: StreamFactory<unknown>,
    callback?: Callback<StreamData<unknown>>,
  ): unknown {
    return [options, factory, callback]
  }

  pipeline(options: never, handler: never): Duplex
  pipeline<TOpaque = null, TSignal extends CallSignal = CallSignal>(
    options: PipelineOptions<TOpaque, TSignal>,
    handler: PipelineHandler<TOpaque, UndiciBodyReadable>,
  ): Duplex
  pipeline(options: PipelineOptions<unknown>, handler: PipelineHandler<unknown, UndiciBodyReadable>): Duplex {
    throw new Error('Not run', { cause: [options, handler] })
  }

  connect<TOpaque = null, TSignal extends CallSignal = CallSignal>(
    options: ConnectOptions<TOpaque, TSignal>,
    callback: Callback<ConnectData<TOpaque>>,
  ): void
  connect<TOpaque = null, TSignal extends CallSignal = CallSignal>(
    options: ConnectOptions<TOpaque, TSignal>,
  ): Promise<ConnectData<TOpaque>>
  connect(options: ConnectOptions<unknown>, callback?: Callback<ConnectData<unknown>>): unknown {
    return [options, callback]
  }

  upgrade<TOpaque = null, TSignal extends CallSignal = CallSignal>(
    options: UpgradeOptions<TOpaque, TSignal>,
    callback: Callback<UpgradeData<TOpaque>>,
  ): void
  upgrade<TOpaque = null, TSignal extends CallSignal = CallSignal>(
    options: UpgradeOptions<TOpaque, TSignal>,
  ): Promise<UpgradeData<TOpaque>>
  upgrade(options: UpgradeOptions<unknown>, callback?: Callback<UpgradeData<unknown>>): unknown {
    return [options, callback]
  }

  close(callback: () => void): void
  close(): Promise<void>
  close(callback?: () => void): unknown {
    return callback
  }

  destroy(error: Error | null, callback: () => void): void
  destroy(callback: () => void): void
  destroy(error: Error | null): Promise<void>
  destroy(): Promise<void>
  destroy(error?: Error | null | (() => void), callback?: () => void): unknown {
    return [error, callback]
  }
}
