/**
 * The client's side of a soak: calls of every kind, so many at a time, some of them aborted at some moment. Of the dispatchers one at a time
 * is in use, of one kind after another, and when it has had its requests it is closed or destroyed, whatever it is doing.
 *
 * @typedef {import('./watch.mjs').Watch} Watch
 * @typedef {import('../random.mjs').Random} Random
 */
import { EventEmitter, getEventListeners, setMaxListeners } from 'node:events'
import { makeRandom } from '../random.mjs'
import { GRPC_WEIGHTS, grpcKinds, kinds, WEIGHTS } from './calls.mjs'
import { collect, guard, judgeMemory, judgeRest, toProcessState } from './verdict.mjs'
import { Expected, toInterceptor } from './watch.mjs'

/**
 * @typedef {{ url: string, isReal: boolean, speaksGrpc?: boolean, name?: string,
 *   weights?: Readonly<Record<string, number>> }} Target `isReal`: a server that does nothing wrong, by a way without faults;
 *   `weights`: of the kinds of calls, if not the usual ones
 * @typedef {{ dispatcher: import('../../types/index.ts').Dispatcher, targets: Target[], label: string }} Current
 */

/** Milliseconds. */
const LIMITS = {
  headersTimeout: 500,
  bodyTimeout: 500,
  uploadTimeout: 1_000,
  queueTimeout: 3_000,
  connectTimeout: 3_000,
}

const WAYS_TO_END = { close: 4, closeInTime: 2, destroy: 2, destroyWithError: 1, closeThenDestroy: 1 }

export class Fleet {
  made = 0
  #left = 0
  /** @type {Current | null} */
  #current = null
  /** @type {Set<Promise<void>>} */
  #ending = new Set()

  /**
   * @param {typeof import('../../src/index.ts')} dodici @param {Target[]} targets
   * @param {'node' | 'wire'} engine of all of them @param {Random} random @param {Watch} watch
   */
  constructor(dodici, targets, engine, random, watch) {
    this.dodici = dodici
    this.targets = targets
    this.engine = engine
    this.random = random
    this.watch = watch
  }

  /** For one request. @returns {Current} */
  take() {
    if (this.#left === 0 || this.#current === null) {
      this.#retire()
      this.#current = this.#make()
      this.#left = this.random.integer(100, 1_500)
    }
    this.#left--
    return this.#current
  }

  /** Ends what there is. */
  async finish() {
    this.#retire()
    await Promise.all(this.#ending)
  }

  /** @param {Target[]} chosen */
  #toOptions(chosen) {
    const { random } = this
    const hasReal = chosen.some(({ isReal }) => isReal)
    // gRPC servers end a connection whose client has set a shorter pingInterval than they permit.
    const hasGrpc = chosen.some(({ speaksGrpc }) => speaksGrpc)
    return {
      ...LIMITS,
      engine: this.engine,
      pingInterval: hasGrpc ? undefined : random.pick([100, 1_000, undefined]),
      // On a busy machine, a correct server must not look like one that doesn't respond.
      pingTimeout: hasReal ? 20_000 : random.pick([50, 1_000]),
      keepAliveTimeout: random.pick([1, 20, undefined]),
      maxConcurrentStreams: random.pick([null, null, null, 5, 50]),
      initialWindowSize: random.pick([undefined, undefined, undefined, 1_000, 65_535]),
      connectionWindowSize: random.pick([undefined, undefined, 65_535]),
      replaySafe: random.pick([undefined, undefined, undefined, false]),
    }
  }

  /** @returns {Current} */
  #make() {
    const { random, dodici, targets, watch } = this
    const kind = ['Client', 'Pool', 'Agent'][this.made++ % 3]
    const chosen = kind === 'Agent' ? targets : [random.pick(targets)]
    const own = this.#toOptions(chosen)
    const connections = random.pick([undefined, undefined, 1, 2, null])
    /** @type {import('../../types/index.ts').Dispatcher} */
    let dispatcher
    if (kind === 'Agent') dispatcher = new dodici.Agent({ ...own, connections, h2c: true })
    else if (kind === 'Pool') dispatcher = new dodici.Pool(chosen[0].url, { ...own, connections })
    else dispatcher = new dodici.Client(chosen[0].url, own)
    // Watched call by call, or as it is.
    const isWatched = random.chance(0.5)
    const used = isWatched ? dispatcher.compose(toInterceptor(watch)) : dispatcher
    return { dispatcher: used, targets: chosen, label: `${kind} ${this.made}` }
  }

  #retire() {
    const current = this.#current
    this.#current = null
    if (current === null) return
    const way = this.random.weighted(WAYS_TO_END)
    const ending = this.watch.followEnd(`${way} of ${current.label}`, () =>
      this.#end(current.dispatcher, way),
    )
    this.#ending.add(ending)
    ending.then(() => this.#ending.delete(ending))
  }

  /** @param {import('../../types/index.ts').Dispatcher} dispatcher @param {string} way */
  async #end(dispatcher, way) {
    if (way === 'close') await dispatcher.close()
    else if (way === 'closeInTime') await dispatcher.close({ timeout: this.random.integer(1, 300) })
    else if (way === 'destroy') await dispatcher.destroy()
    else if (way === 'destroyWithError') await dispatcher.destroy(new Expected('destroyed with an error'))
    else await Promise.all([dispatcher.close(), dispatcher.destroy()])
  }
}

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
  /** @param {Random} random @param {SharedSignals} shared */
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

/** @param {unknown} error @param {Aborter} aborter */
function toFailure(error, aborter) {
  const isAbort = error instanceof Error && error.name === 'AbortError' && !('processed' in error)
  return isAbort && aborter.controller?.signal.aborted === true
    ? new Expected('aborted by its signal')
    : error
}

/**
 * @param {object} options @param {Fleet} options.fleet
 * @param {Watch} options.watch @param {SharedSignals} options.shared @param {Random} options.random
 * @param {(started: number) => boolean} options.isOver whether so many calls are enough @param {number} options.atATime
 * @param {number} options.firstNumber makes tags unique over several loads
 * @param {typeof kinds} [options.moreKinds] that the targets' own weights name
 * @returns {Promise<number>} how many calls there were
 */
async function load({ fleet, watch, shared, random, isOver, atATime, firstNumber, moreKinds }) {
  const all = { ...kinds, ...grpcKinds, ...moreKinds }
  let started = 0

  const { fetch } = fleet.dodici

  /** @param {Random} own @param {number} number */
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
        if (target.isReal && LOSSES.includes(Object(error).code))
          watch.violate(`${what} failed: ${Object(error).stack} ${Object(error).cause?.stack ?? ''}`)
        throw toFailure(error, aborter)
      } finally {
        aborter.stop()
      }
    })
  }

  /** @param {number} seed */
  async function work(seed) {
    const own = makeRandom(seed)
    while (!isOver(started)) await call(own, firstNumber + started++)
  }

  await Promise.all(Array.from({ length: atATime }, () => work(random.fork())))
  return started
}

/** @typedef {{ dispatchers: number, calls: number, seconds: number }} Told `calls`, `seconds`: of the second part */

/**
 * Plays a load in two parts, until all is warm and between two looks at the memory. At the end nothing may be left.
 *
 * @param {object} options
 * @param {'node' | 'wire'} options.engine
 * @param {{ seed: number, module: string, atATime: number }} options.setting
 * @param {Watch} options.watch @param {Target[]} options.targets
 * @param {((started: number) => boolean)[]} options.parts when each is over
 * @param {typeof kinds} [options.moreKinds]
 * @param {string[]} [options.before] the state of the process, to which it has to come back
 * @param {() => () => void} [options.measure] while the second part is played; ends with it
 * @param {() => Promise<void>} options.end after all calls
 * @param {(told: Told) => void} options.report
 */
export async function play({
  engine,
  setting,
  watch,
  targets,
  parts,
  moreKinds,
  before = toProcessState(),
  measure,
  end,
  report,
}) {
  const random = makeRandom(setting.seed)
  const shared = new SharedSignals()
  const fleet = new Fleet(await import(setting.module), targets, engine, makeRandom(random.fork()), watch)
  const told = { dispatchers: 0, calls: 0, seconds: 0 }
  const tell = () => report({ ...told, dispatchers: fleet.made })
  const stopGuard = guard(watch, tell)
  const common = { fleet, watch, shared, random, atATime: setting.atATime, moreKinds }
  const firstNumber = await load({ ...common, isOver: parts[0], firstNumber: 0 })
  await fleet.finish()
  const baseline = await collect()
  const stopMeasuring = measure?.()
  const begun = performance.now()
  told.calls = await load({ ...common, isOver: parts[1], firstNumber })
  told.seconds = (performance.now() - begun) / 1_000
  stopMeasuring?.()
  await fleet.finish()
  const left = await collect()
  await end()
  stopGuard()
  tell()
  judgeMemory(watch, baseline, left)
  await judgeRest(watch, shared.listeners, before)
}
