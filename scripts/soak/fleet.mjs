/**
 * The dispatchers of a soak: one at a time is in use, of one kind after another, and when it has had its requests it is
 * closed or destroyed, whatever it is doing.
 */
import { Expected, toInterceptor } from './watch.mjs'

/**
 * @typedef {{ url: string, isReal: boolean, speaksGrpc?: boolean, retiresAtOnce?: boolean, name?: string,
 *   weights?: Readonly<Record<string, number>> }} Target `isReal`: a server that does nothing wrong, by a way without faults;
 *   `retiresAtOnce`: its GOAWAY comes in one step; `weights`: of the kinds of calls, if not the usual ones
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
  #left = 0
  #made = 0
  /** @type {Current | null} */
  #current = null
  /** @type {Set<Promise<void>>} */
  #ending = new Set()

  /**
   * @param {typeof import('../../src/index.ts')} dodici @param {Target[]} targets
   * @param {'node' | 'wire'} engine of all of them @param {import('../random.mjs').Random} random
   * @param {import('./watch.mjs').Watch} watch
   */
  constructor(dodici, targets, engine, random, watch) {
    this.dodici = dodici
    this.targets = targets
    this.engine = engine
    this.random = random
    this.watch = watch
  }

  get made() {
    return this.#made
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
    const kind = ['Client', 'Pool', 'Agent'][this.#made++ % 3]
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
    return { dispatcher: used, targets: chosen, label: `${kind} ${this.#made}` }
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
