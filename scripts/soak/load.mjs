/** The client's side of a soak: calls of every kind, so many at a time, some of them aborted at some moment. */
import { EventEmitter, getEventListeners, setMaxListeners } from 'node:events'
import { makeRandom } from '../random.mjs'
import { kinds, WEIGHTS } from './calls.mjs'
import { GRPC_WEIGHTS, grpcKinds } from './grpc-calls.mjs'
import { Expected } from './watch.mjs'

/** Signals that many calls share, and that never fire. */
export class SharedSignals {
  #controller = new AbortController()
  emitter = new EventEmitter()

  constructor() {
    setMaxListeners(0, this.#controller.signal, this.emitter)
  }

  get signal() {
    return this.#controller.signal
  }

  /** How many listeners they have. */
  get listeners() {
    return getEventListeners(this.signal, 'abort').length + this.emitter.listenerCount('abort')
  }
}

const SIGNALS = { none: 30, shared: 40, sharedEmitter: 10, own: 20 }
const MOMENTS = { before: 1, sameTurn: 1, turns: 4, time: 4, header: 3, end: 3, never: 2 }

/** Milliseconds within which an abort comes. */
const SOON = 30

/** The `signal` of one call, and the timer that fires it. */
class Aborter {
  /** @param {import('../random.mjs').Random} random @param {SharedSignals} shared */
  constructor(random, shared) {
    this.random = random
    const kind = random.weighted(SIGNALS)
    this.controller = kind === 'own' ? new AbortController() : null
    this.moment = kind === 'own' ? random.weighted(MOMENTS) : 'never'
    /** @type {NodeJS.Timeout | null} */
    this.timer = null
    this.isDone = false
    this.signal =
      this.controller?.signal ??
      (kind === 'shared' ? shared.signal : kind === 'sharedEmitter' ? shared.emitter : null)
    if (this.moment === 'before') this.fire()
  }

  fire() {
    if (this.random.chance(0.3)) this.controller?.abort()
    else this.controller?.abort(new Expected('aborted by its signal'))
  }

  /** The call has been made. */
  start() {
    if (this.moment === 'sameTurn') this.fire()
    else if (this.moment === 'turns') this.#fireIn(this.random.integer(1, 6))
    else if (this.moment === 'time') this.timer = setTimeout(() => this.fire(), this.random.integer(0, SOON))
  }

  /** @param {number} turns */
  #fireIn(turns) {
    if (this.isDone) return
    if (turns === 0) this.fire()
    else setImmediate(() => this.#fireIn(turns - 1))
  }

  /** @param {'header' | 'end'} moment */
  reached(moment) {
    if (moment === this.moment) this.fire()
  }

  stop() {
    this.isDone = true
    if (this.timer !== null) clearTimeout(this.timer)
  }
}

/** Outcomes that a correct server must not cause. */
const LOSSES = ['UND_ERR_SOCKET', 'DODICI_ERR_STREAM', 'DODICI_ERR_CONNECT']

const ONCE_ONLY = [
  'pipeline',
  'postGenerator',
  'postReadable',
  'postThrows',
  'postEndless',
  'grpcCollect',
  'grpcChat',
  'grpcLeave',
]

/** Whether the body can be sent again. @param {string} kind */
const isReplayable = (kind) => !ONCE_ONLY.includes(kind)

/** @param {unknown} error @param {Aborter} aborter */
function toFailure(error, aborter) {
  const isAbort = error instanceof Error && error.name === 'AbortError' && !('processed' in error)
  return isAbort && aborter.controller?.signal.aborted === true
    ? new Expected('aborted by its signal')
    : error
}

/** @type {typeof kinds} */
const ALL_KINDS = { ...kinds, ...grpcKinds }

/**
 * @param {object} options @param {import('./fleet.mjs').Fleet} options.fleet
 * @param {import('./watch.mjs').Watch} options.watch @param {SharedSignals} options.shared
 * @param {import('../random.mjs').Random} options.random @param {number} options.requests Infinity: until `isOver()`
 * @param {() => boolean} [options.isOver] @param {number} options.atATime
 * @param {number} options.firstNumber makes tags unique over several loads
 * @param {typeof kinds} [options.moreKinds] that the targets' own weights name
 * @returns {Promise<number>} how many calls there were
 */
export async function load(options) {
  const {
    fleet,
    watch,
    shared,
    random,
    requests,
    isOver = () => false,
    atATime,
    firstNumber,
    moreKinds,
  } = options
  const all = { ...ALL_KINDS, ...moreKinds }
  let started = 0

  const { fetch } = fleet.dodici

  /** @param {import('../random.mjs').Random} own @param {number} number */
  async function call(own, number) {
    const { dispatcher, targets, label } = fleet.take()
    const target = own.pick(targets)
    const kind = own.weighted(target.weights ?? (target.speaksGrpc ? GRPC_WEIGHTS : WEIGHTS))
    const what = `${kind} ${number} by ${label}${target.name === undefined ? '' : ` of ${target.name}`}`
    if (target.name !== undefined) watch.count(watch.servers, target.name)
    watch.count(watch.kinds, kind)
    const aborter = new Aborter(own, shared)
    await watch.followCall(what, async () => {
      const isIdempotent = own.chance(0.1)
      // `P`: never to be taken twice.
      const tag = `${isIdempotent ? 'I' : 'P'}${String(number).padStart(8, '0')}`
      const options = {
        origin: target.url,
        path: `/soak?${number}`,
        signal: aborter.signal,
        ...(isIdempotent ? { idempotent: true } : {}),
      }
      try {
        const context = {
          random: own,
          dispatcher,
          options,
          tag,
          reached: aborter.reached.bind(aborter),
          fetch,
        }
        const outcome = all[kind](context)
        aborter.start()
        return await outcome
      } catch (error) {
        const isLost = LOSSES.includes(Object(error).code)
        const isUnprocessed = isLost && Object(error).processed === 'no'
        // A GOAWAY in one step refuses requests that are on their way. The body of such a request may be one that can't
        // be sent again.
        const isKnown = isUnprocessed && target.retiresAtOnce && !isReplayable(kind)
        if (isKnown) {
          watch.lostOnce++
        } else if (isLost && target.isReal) {
          watch.violate(`${what} failed: ${Object(error).stack} ${Object(error).cause?.stack ?? ''}`)
        }
        if (isUnprocessed && isReplayable(kind)) watch.needless++
        throw toFailure(error, aborter)
      } finally {
        aborter.stop()
      }
    })
  }

  /** @param {number} seed */
  async function work(seed) {
    const own = makeRandom(seed)
    while (started < requests && !isOver()) await call(own, firstNumber + started++)
  }

  await Promise.all(Array.from({ length: atATime }, () => work(random.fork())))
  return started
}
