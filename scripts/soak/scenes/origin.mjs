/** An origin of a scene: a server in a process of its own, and the next one, which waits for its turn. */
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { isGone, stop } from '../../processes.mjs'
import { forkChild, hear, sayAliveTo } from '../peers.mjs'

/**
 * @typedef {import('node:child_process').ChildProcess} ChildProcess
 * @typedef {{ opened: number, streams: number, mostStreams: number, goaways: number, refused: number, reset: number,
 *   sessions: number }} Tally `streams` and `sessions`: what is open now
 */

const SCRIPT = join(import.meta.dirname, 'server.mjs')

export class Origin {
  #port = 0
  #generation = 0
  /** @type {ChildProcess | null} */
  #server = null
  /** @type {Promise<ChildProcess>} */
  #next
  /** Servers that finish their streams. @type {Set<ChildProcess>} */
  #draining = new Set()

  /** @param {import('./server.mjs').ServerOptions} options */
  constructor(options) {
    this.options = options
    this.#next = this.#fork()
  }

  get url() {
    return `https://127.0.0.1:${this.#port}`
  }

  /** What its responses call it: another name after each restart. */
  get name() {
    return `${this.options.name}/${this.#generation}`
  }

  /** @returns {Promise<ChildProcess>} */
  async #fork() {
    const { options } = this
    const name = `${options.name}/${this.#generation + 1}`
    const child = forkChild(SCRIPT, { ...options, name, seed: options.seed + this.#generation })
    await hear(child, 'isReady')
    return child
  }

  /** The server that waits becomes the one that listens. */
  async start() {
    const child = await this.#next
    const listening = hear(child, 'listening')
    child.send({ listen: this.#port })
    this.#port = (await listening).listening
    this.#server = child
    this.#generation++
    this.#next = this.#fork()
  }

  /** The next server waits for its turn. */
  async prepare() {
    await this.#next
  }

  /** Kills the server, and starts the next one on its port. @param {number} [pause] in milliseconds */
  async kill(pause = 0) {
    await stop(this.#toServer())
    if (pause > 0) await setTimeout(pause)
    await this.start()
  }

  /** As a rolling restart does it. @param {number} patience milliseconds for the streams that it has */
  async drain(patience) {
    const old = this.#toServer()
    const drains = hear(old, 'drains')
    old.send({ drain: patience })
    await drains
    this.#draining.add(old)
    old.once('exit', () => this.#draining.delete(old))
    await this.start()
  }

  /** As a suspended laptop. @param {number} milliseconds */
  async suspend(milliseconds) {
    const server = this.#toServer()
    server.kill('SIGSTOP')
    await setTimeout(milliseconds)
    server.kill('SIGCONT')
  }

  /** @returns {Promise<Tally>} of the server that listens */
  async tally() {
    const server = this.#toServer()
    const tally = hear(server, 'tally')
    server.send('tally')
    return (await tally).tally
  }

  /** See `ward.mjs`. */
  sayAlive() {
    if (this.#server !== null && !isGone(this.#server)) sayAliveTo(this.#server)
  }

  async stop() {
    const servers = [this.#server, ...this.#draining, await this.#next].filter((child) => child !== null)
    await Promise.all(servers.map(stop))
  }

  #toServer() {
    if (this.#server === null || isGone(this.#server)) throw new Error(`${this.name} has died`)
    return this.#server
  }
}
