import type { EventEmitter } from 'node:events'
import type { Duplex, Readable } from 'node:stream'
import { Writable } from 'node:stream'
import type { Callback, CallLimits, DispatchController, DispatchHandler } from '../../../types/index.ts'
import type { Source } from './bodies.ts'
import type { MatrixClient } from './rig.ts'
import type { Watch } from './watch.ts'

/** Which piece of the caller's code throws. `factory`: of `stream()`, or the handler of `pipeline()`. */
export type Thrower =
  | 'callback'
  | 'factory'
  | 'onRequestStart'
  | 'onResponseStart'
  | 'onResponseData'
  | 'onResponseEnd'
  | 'onResponseError'

/** The parts of one call. */
export interface Setup {
  readonly client: MatrixClient
  readonly source: Source
  readonly limits: CallLimits
  /** Not for `dispatch()`, which takes no signal: its controller aborts. */
  readonly signal: AbortSignal | EventEmitter
  readonly throwsIn: Thrower | null
  /** The exception. */
  readonly fault: Error
}

/**
 * How a call ends.
 *
 * - `response`: well
 * - `early`: with an error, before its caller got anything
 * - `late`: with an error, after that
 * - `dropped`: the callback that got the response has thrown
 */
export type End = 'response' | 'early' | 'late' | 'dropped'

/** One way to make a call. */
export interface Api {
  readonly name: string
  readonly kind: 'dispatch' | 'request' | 'stream' | 'pipeline' | 'tunnel'
  readonly hasCallback: boolean
  /** All events of a call that ends so, sorted; there must be no others. */
  readonly endings: Readonly<Record<End, readonly string[]>>
  start(setup: Setup, watch: Watch): void
}

function throwIf(setup: Setup, here: Thrower): void {
  if (setup.throwsIn === here) throw setup.fault
}

function toOptions({ source, limits, signal }: Setup) {
  return { path: '/case', method: 'POST', body: source.body, signal, ...limits }
}

class WatchHandler implements DispatchHandler {
  readonly #setup: Setup
  readonly #watch: Watch

  constructor(setup: Setup, watch: Watch) {
    this.#setup = setup
    this.#watch = watch
  }

  onRequestStart(controller: DispatchController): void {
    this.#watch.abort = (reason) => controller.abort(reason)
    throwIf(this.#setup, 'onRequestStart')
  }

  onResponseStart(): void {
    throwIf(this.#setup, 'onResponseStart')
  }

  onResponseData(_controller: DispatchController, chunk: Buffer): void {
    throwIf(this.#setup, 'onResponseData')
    this.#watch.data(chunk)
  }

  onResponseEnd(_controller: DispatchController, trailers: object): void {
    throwIf(this.#setup, 'onResponseEnd')
    this.#watch.trailers = trailers
    this.#watch.hear('end')
    this.#watch.ended.open()
  }

  onResponseError(_controller: DispatchController, error: Error): void {
    this.#watch.fail('error', error)
    this.#watch.ended.open()
    throwIf(this.#setup, 'onResponseError')
  }
}

function startDispatch(setup: Setup, watch: Watch): void {
  const { source, limits, client } = setup
  client.dispatch(
    { path: '/case', method: 'POST', body: source.body, ...limits },
    new WatchHandler(setup, watch),
  )
}

/** The callback of a call: `onData` takes the response. */
function toCallback<TData>(
  setup: Setup,
  watch: Watch,
  onData: (data: TData) => void,
  onError: () => void = () => watch.ended.open(),
): Callback<TData> {
  return (error, data) => {
    if (error === null) {
      watch.hear('callback')
      onData(data)
    } else {
      watch.fail('callback error', error)
      onError()
    }
    throwIf(setup, 'callback')
  }
}

/** A promise's outcome, as its callback would get it. */
function follow<TData>(promise: Promise<TData>, callback: Callback<TData>): void {
  promise.then(
    (data) => callback(null, data),
    (error) => callback(error, null as TData),
  )
}

interface ResponseScript {
  readonly trailers: object
  readonly body: Readable
}

function startRequest(setup: Setup, watch: Watch, hasCallback: boolean): void {
  const callback = toCallback<ResponseScript>(setup, watch, ({ body, trailers }) => {
    watch.trailers = trailers
    watch.consume(body)
  })
  if (hasCallback) setup.client.request(toOptions(setup), callback)
  else follow(setup.client.request(toOptions(setup)), callback)
}

function startStream(setup: Setup, watch: Watch, hasCallback: boolean): void {
  let writable: Writable | null = null
  // The callback and the Writable's `close` come in any order.
  const end = (): void => {
    const hasCalledBack = watch.heard.some((what) => what.startsWith('callback'))
    if (hasCalledBack && (writable === null || writable.closed)) watch.ended.open()
  }
  const factory = (): Writable => {
    throwIf(setup, 'factory')
    writable = new Writable({
      write(chunk: Buffer, _encoding, onWritten) {
        watch.data(chunk)
        onWritten()
      },
    })
    writable.on('error', (error) => watch.fail('error', error))
    writable.on('finish', () => watch.hear('finish'))
    writable.on('close', () => {
      watch.hear('close')
      end()
    })
    return writable
  }
  const onData = ({ trailers }: { trailers: object }): void => {
    watch.trailers = trailers
    end()
  }
  const callback = toCallback(setup, watch, onData, end)
  if (hasCallback) setup.client.stream(toOptions(setup), factory, callback)
  else follow(setup.client.stream(toOptions(setup), factory), callback)
}

function startPipeline(setup: Setup, watch: Watch): void {
  const { body: _, ...options } = toOptions(setup)
  const duplex = setup.client.pipeline(options, ({ body }) => {
    throwIf(setup, 'factory')
    return body
  })
  // A response that came early doesn't end the caller's side.
  watch.consume(duplex, () => duplex.end())
  setup.source.pour(duplex)
}

function startTunnel(name: 'connect' | 'upgrade', setup: Setup, watch: Watch, hasCallback: boolean): void {
  const path = name === 'connect' ? 'case.example:443' : '/case'
  const options = { path, signal: setup.signal, ...setup.limits }
  const callback = toCallback<{ socket: Duplex }>(setup, watch, ({ socket }) => {
    watch.consume(socket)
    socket.end()
  })
  const { client } = setup
  if (name === 'connect') {
    if (hasCallback) client.connect(options, callback)
    else follow(client.connect(options), callback)
  } else if (hasCallback) client.upgrade(options, callback)
  else follow(client.upgrade(options), callback)
}

const DISPATCH_ENDINGS = { response: ['end'], early: ['error'], late: ['error'], dropped: ['error'] }

const REQUEST_ENDINGS = {
  response: ['callback', 'close', 'end'],
  early: ['callback error'],
  late: ['callback', 'close', 'error'],
  dropped: ['callback', 'close', 'error'],
}

const STREAM_ENDINGS = {
  response: ['callback', 'close', 'finish'],
  early: ['callback error'],
  late: ['callback error', 'close', 'error'],
  dropped: ['callback', 'close', 'finish'],
}

const PIPELINE_ENDINGS = {
  response: ['close', 'end'],
  early: ['close', 'error'],
  late: ['close', 'error'],
  dropped: ['close', 'error'],
}

const TUNNEL_ENDINGS = { ...REQUEST_ENDINGS, dropped: ['callback', 'close'] }

const FORMS = [
  { form: '', hasCallback: false },
  { form: ' with a callback', hasCallback: true },
]

export const APIS: readonly Api[] = [
  {
    name: 'dispatch',
    kind: 'dispatch',
    hasCallback: false,
    endings: DISPATCH_ENDINGS,
    start: startDispatch,
  },
  {
    name: 'pipeline',
    kind: 'pipeline',
    hasCallback: false,
    endings: PIPELINE_ENDINGS,
    start: startPipeline,
  },
  ...FORMS.flatMap(({ form, hasCallback }): Api[] => [
    {
      name: `request${form}`,
      kind: 'request',
      hasCallback,
      endings: REQUEST_ENDINGS,
      start: (setup, watch) => startRequest(setup, watch, hasCallback),
    },
    {
      name: `stream${form}`,
      kind: 'stream',
      hasCallback,
      endings: STREAM_ENDINGS,
      start: (setup, watch) => startStream(setup, watch, hasCallback),
    },
    {
      name: `connect${form}`,
      kind: 'tunnel',
      hasCallback,
      endings: TUNNEL_ENDINGS,
      start: (setup, watch) => startTunnel('connect', setup, watch, hasCallback),
    },
    {
      name: `upgrade${form}`,
      kind: 'tunnel',
      hasCallback,
      endings: TUNNEL_ENDINGS,
      start: (setup, watch) => startTunnel('upgrade', setup, watch, hasCallback),
    },
  ]),
]
