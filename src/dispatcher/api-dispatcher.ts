/**
 * The API methods of all dispatchers.
 *
 * @module
 */

import { EventEmitter } from 'node:events'
import type { Duplex } from 'node:stream'
import type { ApiMethods, Callback } from '../../types/api-methods.ts'
import type { DispatcherEvents } from '../../types/dispatcher.ts'
import type { AnyDispatchHandler } from '../../types/handler.ts'
import type {
  ConnectOptions,
  DispatchOptions,
  HeaderForm,
  PipelineOptions,
  RequestOptions,
  UpgradeOptions,
} from '../../types/request.ts'
import type {
  ConnectData,
  PipelineHandler,
  ResponseData,
  StreamData,
  StreamFactory,
  UpgradeData,
} from '../../types/response.ts'
import { connect } from '../api/connect.ts'
import { pipeline } from '../api/pipeline.ts'
import { request } from '../api/request.ts'
import { stream } from '../api/stream.ts'
import { upgrade } from '../api/upgrade.ts'

/** The methods themselves. Their overloads are typed in {@link ApiMethods}. */
abstract class UntypedApiDispatcher extends EventEmitter<DispatcherEvents> {
  abstract dispatch(options: DispatchOptions, handler: AnyDispatchHandler): boolean

  request(options: RequestOptions<unknown>, callback?: Callback<ResponseData<unknown, HeaderForm>>): unknown {
    return request(this, options, callback)
  }

  stream(
    options: RequestOptions<unknown>,
    factory: StreamFactory<unknown, HeaderForm>,
    callback?: Callback<StreamData<unknown, HeaderForm>>,
  ): unknown {
    return stream(this, options, factory, callback)
  }

  pipeline(options: PipelineOptions<unknown>, handler: PipelineHandler<unknown, HeaderForm>): Duplex {
    return pipeline(this, options, handler)
  }

  connect(options: ConnectOptions<unknown>, callback?: Callback<ConnectData<unknown, HeaderForm>>): unknown {
    return connect(this, options, callback)
  }

  upgrade(options: UpgradeOptions<unknown>, callback?: Callback<UpgradeData<unknown, HeaderForm>>): unknown {
    return upgrade(this, options, callback)
  }
}

/** The class type: an EventEmitter with the API methods. */
type ApiDispatcherClass = Omit<typeof EventEmitter, 'prototype'> &
  (abstract new (
    ...args: ConstructorParameters<typeof EventEmitter>
  ) => EventEmitter<DispatcherEvents> & ApiMethods)

/**
 * The base class of all dispatchers. A class can't take its methods' overloads from an interface, but its type can.
 * So the methods stay on the prototype, and subclasses can override them.
 */
export const ApiDispatcher = UntypedApiDispatcher as ApiDispatcherClass
