/** Processes that run scripts of ours: see `child.mjs`. None outlives this process. */
import { fork } from 'node:child_process'
import { join } from 'node:path'
import { isGone, keep, stop, toPids } from './processes.mjs'
import { compileScript } from './support.mjs'

/** @typedef {import('node:child_process').ForkOptions} ForkOptions */

/** @param {string} file @param {unknown} argument @param {ForkOptions} [options] */
const forkScript = (file, argument, options) =>
  keep(fork(file, [JSON.stringify(argument)], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'], ...options }))

/**
 * A process whose methods this one calls.
 *
 * @template {import('./child.mjs').Methods} TMethods those that its script serves
 * @template [TEvent=never] what it tells without being asked
 */
export class Child {
  /** Hears what it tells without being asked. @type {(event: TEvent) => void} */
  onEvent = () => {}
  #calls = 0
  /** By number. @type {Map<number, { resolve: (result: never) => void, reject: (error: Error) => void }>} */
  #open = new Map()

  /** @param {string} file a script @param {unknown} argument @param {ForkOptions} [options] */
  constructor(file, argument, options) {
    this.process = forkScript(file, argument, options)
    this.process.on(
      'message',
      (/** @type {{ call: number, result: never, event: TEvent | undefined }} */ message) => {
        const { call, result, event } = message
        if (event !== undefined) return this.onEvent(event)
        this.#open.get(call)?.resolve(result)
        this.#open.delete(call)
      },
    )
    this.process.on('exit', () => this.#fail())
  }

  get isGone() {
    return isGone(this.process)
  }

  /**
   * Calls one of its methods.
   *
   * @template {keyof TMethods & string} TName
   * @param {TName} method @param {Parameters<TMethods[TName]>[0]} [argument]
   * @returns {Promise<Awaited<ReturnType<TMethods[TName]>>>}
   */
  ask(method, argument) {
    return new Promise((resolve, reject) => {
      const call = this.#calls++
      this.#open.set(call, { resolve, reject })
      if (this.isGone) this.#fail()
      // It may be dying: then its exit follows.
      else this.process.send({ call, method, argument }, () => {})
    })
  }

  async stop() {
    if (this.process.connected) this.process.disconnect()
    await stop(this.process)
  }

  #fail() {
    const { signalCode, exitCode } = this.process
    const error = new Error(`the process ended: ${signalCode ?? `exit code ${exitCode}`}`)
    for (const { reject } of this.#open.values()) reject(error)
    this.#open.clear()
  }
}

/**
 * Starts a script that needs modules in TypeScript.
 *
 * @template {import('./child.mjs').Methods & { listen: () => unknown }} TMethods
 * @template [TEvent=never] what it tells without being asked
 * @param {string} path relative to scripts/ @param {object} argument
 * @returns {Promise<{ child: Child<TMethods, TEvent>, listening: Awaited<ReturnType<TMethods['listen']>> }>} with what its method `listen`
 *   has said
 */
export async function startChild(path, argument) {
  const script = compileScript(path)
  try {
    /** @type {Child<TMethods, TEvent>} */
    const child = new Child(script.file, argument, { execArgv: ['--enable-source-maps'] })
    return { child, listening: await child.ask('listen') }
  } finally {
    script.remove()
  }
}

/** See `watchdog.mjs`. @returns {() => Promise<void>} ends it */
export function startWatchdog() {
  const watchdog = forkScript(join(import.meta.dirname, 'watchdog.mjs'), null)
  const timer = setInterval(() => watchdog.connected && watchdog.send(toPids(), () => {}), 1_000)
  return async () => {
    clearInterval(timer)
    await stop(watchdog)
  }
}
