/** `dispatch()` with a handler of either shape: its calls must come in order, and end once. */

import type { Duplex } from 'node:stream'
import type {
  DispatchController,
  DispatchHandler,
  DispatchOptions,
  LegacyDispatchHandler,
} from '../../../types/index.ts'
import { toBody } from './bodies.ts'
import type { Setting } from './calls.ts'
import { useTunnel } from './tunnels.ts'
import type { CallWatch } from './watch.ts'

function toOptions({ watch, time, origin }: Setting): DispatchOptions {
  const { method, body, options } = watch.plan
  const headers = { 'x-call': `${watch.index}` }
  return { origin, path: '/', method, headers, body: toBody(body, { time, watch }), ...options }
}

/** The common part of the two shapes: the order of the calls, and where the handler throws. */
class Heard {
  readonly watch: CallWatch
  readonly chunks: Buffer[] = []
  #stage: 'none' | 'started' | 'responding' | 'over' = 'none'

  constructor(watch: CallWatch) {
    this.watch = watch
  }

  start(): void {
    if (this.#stage !== 'none') this.watch.blame(`the handler was started when it was ${this.#stage}`)
    this.#stage = 'started'
    this.#throwIf('onRequestStart')
  }

  respond(status: number): void {
    if (this.#stage !== 'started') this.watch.blame(`a status came when the handler was ${this.#stage}`)
    if (status >= 200) {
      this.#stage = 'responding'
      this.watch.status = status
    }
    this.#throwIf('onResponseStart')
  }

  data(chunk: Buffer): void {
    if (this.#stage !== 'responding') this.watch.blame(`data came when the handler was ${this.#stage}`)
    this.chunks.push(chunk)
    this.#throwIf('onResponseData')
  }

  end(): void {
    if (this.#stage !== 'responding') this.watch.blame(`the end came when the handler was ${this.#stage}`)
    this.#stage = 'over'
    this.watch.whole = Buffer.concat(this.chunks)
    if (this.watch.plan.throwsIn === 'onResponseEnd') {
      // What is thrown comes back as the call's error.
      this.#stage = 'responding'
      throw new Error('onResponseEnd has failed')
    }
    this.watch.settle('complete')
  }

  fail(error: Error): void {
    if (this.#stage === 'over') this.watch.blame(`an error came after the end: ${error}`)
    this.#stage = 'over'
    this.watch.settle(String(error))
  }

  upgrade(socket: Duplex, setting: Setting): void {
    this.#stage = 'over'
    useTunnel(socket, setting)
    this.watch.settle('a tunnel')
  }

  #throwIf(here: string): void {
    if (this.watch.plan.throwsIn === here) throw new Error(`${here} has failed`)
  }
}

/** The native shape. */
export function startDispatch(setting: Setting): void {
  const { watch, time, pace, dispatcher } = setting
  const heard = new Heard(watch)
  const { reader, abortAt } = watch.plan
  const onData = (controller: DispatchController, chunk: Buffer): void => {
    if (reader === 'pause' || reader === 'pipe slowly') {
      controller.pause()
      time.after(pace, () => controller.resume())
    }
    heard.data(chunk)
    if (reader.startsWith('destroy')) controller.abort()
  }
  const handler: DispatchHandler = {
    onRequestStart: (controller) => {
      if (abortAt !== null) time.after(abortAt, () => controller.abort(new Error('aborted')))
      heard.start()
    },
    onResponseStart: (controller, status) => {
      if (reader === 'never') {
        // Held back for good: bodyTimeout doesn't run. Then only the client's end is left.
        controller.pause()
        watch.isPassive = true
        time.after(500, () => controller.resume())
      }
      heard.respond(status)
    },
    onResponseData: onData,
    onResponseEnd: () => heard.end(),
    onResponseError: (_controller, error) => heard.fail(error),
    onRequestUpgrade: (_controller, _status, _headers, socket) => heard.upgrade(socket, setting),
  }
  dispatcher.dispatch(toOptions(setting), handler)
}

/** The shape of undici 6 and 7. */
export function startLegacy(setting: Setting): void {
  const { watch, time, pace, dispatcher } = setting
  const heard = new Heard(watch)
  const { reader, abortAt } = watch.plan
  let resume = (): void => {}
  const handler: LegacyDispatchHandler = {
    onConnect: (abort) => {
      if (abortAt !== null) time.after(abortAt, () => abort(new Error('aborted')))
      heard.start()
    },
    onHeaders: (status, _headers, onResume) => {
      resume = onResume
      heard.respond(status)
      if (reader !== 'pause' || status < 200) return true
      time.after(pace, () => resume())
      return false
    },
    onData: (chunk) => {
      heard.data(chunk)
      if (reader !== 'pause') return true
      time.after(pace, () => resume())
      return false
    },
    onComplete: () => heard.end(),
    onError: (error) => heard.fail(error),
    onUpgrade: (_status, _headers, socket) => heard.upgrade(socket, setting),
  }
  dispatcher.dispatch(toOptions(setting), handler)
}
