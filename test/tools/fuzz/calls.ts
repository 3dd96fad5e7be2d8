/** The APIs by which a round sends its calls, and the checks of each. */

import { EventEmitter } from 'node:events'
import type { Duplex } from 'node:stream'
import { PassThrough } from 'node:stream'
import type {
  BodyReadable,
  Callback,
  Dispatcher,
  RequestOptions,
  ResponseData,
} from '../../../types/index.ts'
import { toBody } from './bodies.ts'
import { startFetch } from './fetches.ts'
import { startDispatch, startLegacy } from './handlers.ts'
import type { Reading } from './readers.ts'
import { readBody, readByEvents, SlowWritable } from './readers.ts'
import { useTunnel } from './tunnels.ts'

/** The parameters of a call. */
export interface Setting extends Reading {
  readonly dispatcher: Dispatcher
  readonly origin: string
}

/** Starts the call of a plan. */
export function startCall(setting: Setting): void {
  switch (setting.watch.plan.api) {
    case 'request':
      startRequest(setting)
      break
    case 'callback':
      startCallback(setting)
      break
    case 'stream':
    case 'stream callback':
      startStream(setting)
      break
    case 'pipeline':
      startPipeline(setting)
      break
    case 'connect':
    case 'upgrade':
      startTunnel(setting)
      break
    case 'fetch':
      startFetch(setting)
      break
    case 'dispatch':
      startDispatch(setting)
      break
    case 'legacy':
      startLegacy(setting)
  }
}

/** The signal that ends the call from outside; null if its plan has none. */
export function toSignal({ watch, time }: Reading): AbortSignal | EventEmitter | null {
  const { abortAt, hasEmitter } = watch.plan
  if (abortAt === null) return null
  if (hasEmitter) {
    const emitter = new EventEmitter()
    time.after(abortAt, () => emitter.emit('abort'))
    return emitter
  }
  const controller = new AbortController()
  if (abortAt === 0) controller.abort()
  else time.after(abortAt, () => controller.abort())
  return controller.signal
}

/** The request, without a body. */
function toBareOptions(setting: Setting): RequestOptions {
  const { watch, origin } = setting
  const { method, options } = watch.plan
  return {
    origin,
    path: '/',
    method,
    headers: { 'x-call': `${watch.index}` },
    signal: toSignal(setting),
    ...options,
  }
}

function toOptions(setting: Setting): RequestOptions {
  return { ...toBareOptions(setting), body: toBody(setting.watch.plan.body, setting) }
}

function onResponse(setting: Setting, { statusCode, body }: { statusCode: number; body: unknown }): void {
  const { watch } = setting
  watch.status = statusCode
  readBody(body as BodyReadable, setting)
  watch.settle(`status ${statusCode}`)
}

/** By the promise: its reader begins where `await` goes on. */
function startRequest(setting: Setting): void {
  const { watch, dispatcher } = setting
  const run = async (): Promise<void> => {
    let response: Awaited<ReturnType<Dispatcher['request']>>
    try {
      response = await dispatcher.request(toOptions(setting))
    } catch (thrown) {
      watch.settle(String(thrown))
      return
    }
    onResponse(setting, response)
  }
  watch.follow('request()', run())
}

function startCallback(setting: Setting): void {
  const { watch, dispatcher } = setting
  const callback: Callback<Pick<ResponseData, 'statusCode'> & { body: unknown }> = (error, data) => {
    if (error === null) onResponse(setting, data)
    else watch.settle(String(error))
  }
  dispatcher.request(toOptions(setting), callback)
}

function startStream(setting: Setting): void {
  const { watch, dispatcher, time, pace } = setting
  const { reader, api } = watch.plan
  const isLasting = reader === 'never' || reader === 'only listen'
  if (isLasting) watch.isPassive = true
  const factory = ({ statusCode }: { statusCode: number }): SlowWritable => {
    watch.status = statusCode
    const writable = new SlowWritable(time, isLasting ? 400 : reader === 'pipe slowly' ? pace : 0)
    const endings = watch.listen('the Writable', writable)
    if (reader.startsWith('destroy')) {
      endings.isGivenUp = true
      time.after(pace, () => writable.destroy())
    }
    return writable
  }
  if (api === 'stream') {
    const run = async (): Promise<void> => {
      await dispatcher.stream(toOptions(setting), factory).then(
        () => watch.settle('written'),
        (error) => watch.settle(String(error)),
      )
    }
    watch.follow('stream()', run())
  } else {
    dispatcher.stream(toOptions(setting), factory, (error) => {
      watch.settle(error === null ? 'written' : String(error))
    })
  }
}

function startPipeline(setting: Setting): void {
  const { watch, dispatcher, time, pace } = setting
  const { reader, body } = watch.plan
  const duplex = dispatcher.pipeline(toBareOptions(setting), ({ statusCode, body: source }) => {
    watch.status = statusCode
    return reader === 'pipe' ? source.pipe(new PassThrough()) : source
  })
  const endings = watch.listen('the pipeline', duplex)
  duplex.on('close', () => watch.settle('closed'))
  // A response that came early doesn't end the caller's side.
  duplex.on('end', () => duplex.end())
  if (reader.startsWith('destroy')) {
    endings.isGivenUp = true
    time.after(pace, () => duplex.destroy())
  } else if (reader === 'iterate and stop') {
    endings.isGivenUp = true
    watch.follow('iterating the pipeline', iterateOnce(duplex))
  } else {
    watch.follow('reading the pipeline', readByEvents(duplex, setting))
  }
  watch.follow('writing the pipeline', write(duplex, setting, body.chunks))
}

async function iterateOnce(duplex: Duplex): Promise<void> {
  for await (const _chunk of duplex) return
}

async function write(duplex: Duplex, { watch, time }: Setting, chunks: number): Promise<void> {
  const { size, gap, end } = watch.plan.body
  for (let count = 0; count < chunks; count++) {
    if (gap > 0) await time.sleep(gap)
    duplex.write(Buffer.alloc(size))
  }
  // One that never ends is late by uploadTimeout.
  if (end !== 'never') duplex.end()
}

function startTunnel(setting: Setting): void {
  const { watch, dispatcher, origin } = setting
  const { api, options, listens } = watch.plan
  const { headersTimeout, requestTimeout, queueTimeout, responseHeaders } = options
  const given = {
    origin,
    path: api === 'connect' ? 'target.example:443' : '/chat',
    headers: { 'x-call': `${watch.index}` },
    signal: toSignal(setting),
    ...{ headersTimeout, requestTimeout, queueTimeout, responseHeaders },
  } as { origin: string; path: string }
  const onTunnel = ({ socket }: { socket: Duplex }): void => {
    useTunnel(socket, setting)
    watch.settle('a tunnel')
  }
  if (listens) {
    const run = async (): Promise<void> => {
      let data: { socket: Duplex }
      try {
        data = await (api === 'connect' ? dispatcher.connect(given) : dispatcher.upgrade(given))
      } catch (thrown) {
        watch.settle(String(thrown))
        return
      }
      onTunnel(data)
    }
    watch.follow(`${api}()`, run())
  } else {
    const callback: Callback<{ socket: Duplex }> = (error, data) => {
      if (error === null) onTunnel(data)
      else watch.settle(String(error))
    }
    if (api === 'connect') dispatcher.connect(given, callback)
    else dispatcher.upgrade(given, callback)
  }
}
