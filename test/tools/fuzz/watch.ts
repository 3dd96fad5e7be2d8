/** The events of one call, and the ones that must not be. */

import type { Duplex, Readable, Writable } from 'node:stream'
import type { CallPlan } from './plan-calls.ts'

/** Events after which a stream emits no more. */
const LAST = ['end', 'error', 'close', 'finish'] as const

/** The endings of one object that the call has handed out, as its listeners get them. */
export class Endings {
  readonly name: string
  readonly stream: Readable | Writable | Duplex
  readonly heard: string[] = []
  /** The reader, or the harness, has destroyed it: it may close without another event. */
  isGivenUp = false
  /** Its events were on their way, or gone, when the harness began to listen. */
  readonly #hadClosed: boolean

  constructor(name: string, stream: Readable | Writable | Duplex) {
    this.name = name
    this.stream = stream
    this.#hadClosed = stream.closed
    for (const event of LAST) stream.on(event, () => this.heard.push(event))
  }

  get isOver(): boolean {
    return this.heard.includes('close') || this.isMissed
  }

  /** It has ended before its caller could listen. */
  get isMissed(): boolean {
    return this.#hadClosed && this.heard.length === 0
  }

  /** What is wrong with it at the end of the round; null if nothing is. */
  get fault(): string | null {
    const said = `${this.name} heard ${this.heard.length === 0 ? 'nothing' : this.heard.join(', ')}`
    if (this.isMissed) return null
    const count = (event: string): number => this.heard.filter((one) => one === event).length
    for (const event of LAST) if (count(event) > 1) return `${said}: ${event} twice`
    if (count('close') === 0) return `${said}: no close`
    if (this.heard.at(-1) !== 'close') return `${said}: something after close`
    const isResponded = count('end') + count('error') + count('finish') > 0
    if (!isResponded && !this.isGivenUp) return `${said}: no end, and no error`
    const error = this.heard.indexOf('error')
    if (error !== -1 && this.heard.slice(error).includes('end')) return `${said}: end after an error`
    return null
  }
}

/** One call of a round. */
export class CallWatch {
  readonly index: number
  readonly plan: CallPlan
  /** Each time that the call told its outcome. */
  readonly settled: string[] = []
  readonly endings: Endings[] = []
  /** What goes on with it, by name; each is taken out as it comes to its end. */
  readonly tasks = new Map<string, true>()
  readonly faults: string[] = []
  /** All of a body, as a reader that came to its end has got it; null without one. */
  whole: Buffer | null = null
  /** The status of the final response; null without one. */
  status: number | null = null
  /** Sources of its request's body that were begun, and haven't been let go of. */
  sources = 0
  /**
   * A body that its caller neither reads nor listens to: the harness destroys it before it closes the client. Null
   * without one.
   */
  neglected: Readable | null = null
  /** Readers that wait for their body's owner: only the harness can end them. */
  isPassive = false
  /** Its reader came too late, and waits for what was told before: one fault, not two. */
  isMissed = false
  readonly #onEvent: (what: string) => void

  constructor(index: number, plan: CallPlan, onEvent: (what: string) => void) {
    this.index = index
    this.plan = plan
    this.#onEvent = onEvent
  }

  settle(outcome: string): void {
    this.#onEvent(outcome)
    this.settled.push(outcome)
  }

  blame(fault: string): void {
    this.#onEvent(fault)
    this.faults.push(fault)
  }

  /** Listens for the end of an object that was handed out. */
  listen(name: string, stream: Readable | Writable | Duplex): Endings {
    const endings = new Endings(`[call ${this.index}, ${this.plan.api}, ${this.plan.reader}] ${name}`, stream)
    this.endings.push(endings)
    for (const event of LAST) stream.on(event, () => this.#onEvent(`${name}: ${event}`))
    return endings
  }

  /** An object was handed out that had emitted its end already. */
  miss(name: string): void {
    this.isMissed = true
    this.blame(`${name} was closed before its caller could listen`)
  }

  /** A promise that must settle. Its rejection is an outcome like any other. */
  follow(name: string, task: Promise<unknown>): void {
    const key = `${name} ${this.tasks.size}`
    this.tasks.set(key, true)
    const onEnd = (outcome: unknown): void => {
      this.#onEvent(`${name}: ${String(outcome)}`)
      this.tasks.delete(key)
    }
    task.then(onEnd, onEnd)
  }
}

/** Whether all of it has ended. */
export function isOver({ settled, tasks, endings, sources }: CallWatch): boolean {
  return settled.length > 0 && tasks.size === 0 && sources === 0 && endings.every((one) => one.isOver)
}
