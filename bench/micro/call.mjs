/** A call's life without a session: made, opened, responded, settled. */
import { EventEmitter } from 'node:events'
import { CountingHandler } from '../e2e/clients/shapes.mjs'
import { loadSource } from './harness.mjs'

/** @type {typeof import('../../src/call/call.ts')} */
const { Call } = await loadSource('call/call.ts')
/** @type {typeof import('../../src/core/clock.ts')} */
const { Deadlines, systemClock } = await loadSource('core/clock.ts')
/** @type {typeof import('../../src/options/options.ts')} */
const { toClientOptions, toOrigin } = await loadSource('options/options.ts')
/** @type {typeof import('../../src/request/request.ts')} */
const { Request } = await loadSource('request/request.ts')
/** @type {typeof import('../../src/session/stream/response-flow.ts')} */
const { ResponseFlow } = await loadSource('session/stream/response-flow.ts')

const options = toClientOptions({})
const request = new Request({ path: '/', method: 'GET' }, toOrigin('https://localhost'), options)

const raw = [':status', '200', 'content-length', '1024', 'content-type', 'application/json']
const headers = { 'content-length': '1024', 'content-type': 'application/json' }
const chunk = Buffer.alloc(1024, 'a')

const ignore = () => {}

/** Writes down its ends as well, since a call must have one and no more. */
class Handler extends CountingHandler {
  ends = 0

  constructor() {
    super(ignore)
  }

  /** @override */
  onResponseEnd() {
    this.ends++
  }
}

/** @param {Handler} handler */
const toResult = ({ status, bytes, ends }) => ({ status, bytes, ends })

/** As an engine's stream: the flow of its response is an object of its own. */
/** @type {import('../../src/call/attempt.ts').Carrier} */
const CARRIER = { protocol: 'h2', id: 1, transport: null }

class Attempt {
  streamId = 1
  carrier = CARRIER
  isConnected = true
  hasBegun = true
  isClosed = true
  isAccepted = false
  isLeftOut = false
  maxHeaderListSize = Number.POSITIVE_INFINITY
  flow

  /** @param {import('../../src/call/call.ts').Call} call */
  constructor(call) {
    this.flow = new ResponseFlow(this, call)
  }

  get meter() {
    return this.flow
  }

  pause() {}
  resume() {}
  proceed() {}
  cancel() {}
  closeConnection() {}
  reprioritize() {}
  onTaken() {}
  onComplete() {}
  onOver() {}

  toTunnelSide() {
    return null
  }
}

const owner = {
  deadlines: new Deadlines(systemClock),
  mayReplay: () => false,
  onReplay() {},
  onFlow() {},
  isConnecting: () => false,
  mayWaitOn: () => false,
  onSettled() {},
}

function liveOwn() {
  const handler = new Handler()
  const call = new Call(request, handler, owner, 0)
  call.start()
  call.begin(new Attempt(call))
  call.tellSent()
  call.respond(200, headers, raw)
  call.data(chunk)
  call.complete({}, null)
  return toResult(handler)
}

/**
 * As one would write it first: the session emits, closures listen and keep the state, and a timer of its own watches
 * the call.
 *
 * @param {Handler} handler
 */
function makeEmitter(handler) {
  const events = new EventEmitter()
  let isSettled = false
  let received = 0
  let announced = Number.NaN
  const timer = setTimeout(() => settle(new Error('It is late')), 300_000).unref()

  /** @param {Error | null} error */
  function settle(error) {
    if (isSettled) return
    isSettled = true
    clearTimeout(timer)
    if (error === null) handler.onResponseEnd()
    else handler.onResponseError(events, error)
  }

  handler.onRequestStart()
  events.once('open', () => timer.refresh())
  events.once('response', (/** @type {number} */ status, /** @type {typeof headers} */ fields) => {
    announced = Number(fields['content-length'])
    timer.refresh()
    handler.onResponseStart(events, status)
  })
  events.on('data', (/** @type {Buffer} */ chunk) => {
    received += chunk.length
    timer.refresh()
    handler.onResponseData(events, chunk)
  })
  events.once('end', () => settle(received === announced ? null : new Error('It is too short')))
  events.once('error', settle)
  return events
}

function liveEmitter() {
  const handler = new Handler()
  const call = makeEmitter(handler)
  call.emit('open')
  call.emit('response', 200, headers)
  call.emit('data', chunk)
  call.emit('end')
  return toResult(handler)
}

export const comparisons = [
  {
    title: 'a call, from its making to its end',
    ways: {
      Call: liveOwn,
      'an EventEmitter, closures and a timer': liveEmitter,
    },
  },
]
