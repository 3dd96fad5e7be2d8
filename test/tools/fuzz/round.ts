/** One round: a client, its calls, a peer that goes wrong, and the checks at the end. */

import { Agent, Client, Pool } from '../../../src/index.ts'
import type { Dispatcher } from '../../../types/index.ts'
import { Random } from '../../protocol/hpack/support.ts'
import { startCall } from './calls.ts'
import type { SentStream } from './client-ledger.ts'
import type { Port } from './peer.ts'
import { Peer } from './peer.ts'
import { POLITE_BODY } from './peer-side.ts'
import type { Farewell, Plan } from './plan.ts'
import type { VirtualTime } from './virtual-time.ts'
import { CallWatch, isOver } from './watch.ts'

/**
 * Virtual milliseconds: every call has settled by then, a reader has read what there is, a client is gone. A peer may
 * take an upload by the byte, each of which is progress.
 */
const SETTLED = 2_000_000
const READ = 600
const HEALTHY = 300_000
const GONE = 20_000
/** How often a healthy server may be asked until it responds. */
const TRIES = 3

/** Uncaught errors and warnings of the process while a round is played. */
export interface Uncaught {
  readonly heard: string[]
}

/** Plays a round. @returns its failures; empty when every check held */
export async function playRound(
  plan: Plan,
  time: VirtualTime,
  port: Port,
  uncaught: Uncaught,
): Promise<string[]> {
  const round = new Round(plan, time, port)
  const random = new Random(plan.seed)
  const { random: realRandom } = Math
  // The client's jitter: the same for the same seed.
  Math.random = () => random.below(2 ** 30) / 2 ** 30
  try {
    await round.play()
  } finally {
    Math.random = realRandom
    time.clear()
  }
  return [...uncaught.heard.splice(0), ...round.faults]
}

class Round {
  readonly faults: string[] = []
  readonly #plan: Plan
  readonly #time: VirtualTime
  readonly #peer: Peer
  readonly #client: Dispatcher
  /** The fallback; null if there is none. */
  readonly #fallback: Dispatcher | null
  readonly #watches: CallWatch[]
  #farewell: Promise<void> | null = null
  #isGone = false

  constructor(plan: Plan, time: VirtualTime, port: Port) {
    this.#plan = plan
    this.#time = time
    this.#peer = new Peer(plan, time, port)
    this.#fallback = plan.hasFallback
      ? new Agent({ engine: plan.engine, h2c: true, fallback: null, connect: this.#peer.politeConnector })
      : null
    this.#client = this.#toClient()
    this.#watches = plan.calls.map((call, index) => {
      const onEvent = (what: string): void => {
        time.touch()
        time.log(() => `call ${index}, ${call.api}: ${what}`)
      }
      return new CallWatch(index, call, onEvent)
    })
    time.quietTurns = plan.quietTurns
    time.isBusy = () => this.#peer.isBusy
  }

  async play(): Promise<void> {
    const { interruption, calls, checksHealth, farewell } = this.#plan
    for (const [index, { at }] of calls.entries()) {
      if (at === 0) this.#start(index)
      else this.#time.after(at, () => this.#start(index))
    }
    if (interruption !== null) this.#time.after(interruption.at, () => this.#leave(interruption.what))
    // What waits for its reader settles with the client at the latest.
    const haveSettled = (): boolean =>
      this.#watches.every(({ settled, isPassive }) => settled.length > 0 || isPassive)
    if (!(await this.#time.until(haveSettled, SETTLED))) this.#blameUnsettled()
    await this.#time.pass(READ, () => this.#watches.every(isOver))
    if (checksHealth && this.#farewell === null) await this.#checkHealth()
    this.#leave(farewell)
    if (farewell.startsWith('close')) this.#giveUp()
    if (!(await this.#time.until(() => this.#isGone, GONE))) this.faults.push(`${farewell} hasn't settled`)
    this.#fallback?.destroy()
    await this.#time.pass(GONE, () => this.#areSocketsGone)
    this.#giveUp()
    await this.#time.until(() => this.#watches.every(isOver), GONE)
    // What comes too late comes now.
    await this.#time.pass(100)
    this.#judge()
    this.#peer.destroy()
    await this.#time.pass(1)
  }

  #toClient(): Dispatcher {
    const { kind, options, transport } = this.#plan
    const { origin, connector } = this.#peer
    const common = { ...options, fallback: this.#fallback }
    const given = transport === 'own socket' ? common : { ...common, connect: connector }
    if (kind === 'client') return new Client(origin, given)
    return kind === 'pool' ? new Pool(origin, given) : new Agent({ ...given, h2c: true })
  }

  #start(index: number): void {
    const watch = this.#watches[index]
    if (watch === undefined) return
    try {
      startCall({
        watch,
        time: this.#time,
        pace: watch.plan.pace,
        dispatcher: this.#client,
        origin: this.#peer.origin,
      })
    } catch (thrown) {
      watch.blame(`the call has thrown ${thrown}`)
      watch.settle('thrown')
    }
  }

  /** Ends the client, once. */
  #leave(what: Farewell): void {
    this.#time.log(() => `the client's ${what}`)
    const isRude = what.startsWith('destroy')
    if (this.#farewell !== null && !isRude) return
    const client = this.#client
    const leaving =
      what === 'close'
        ? client.close()
        : what === 'close with a limit'
          ? client.close({ timeout: 200 })
          : client.destroy(what === 'destroy' ? null : new Error('The owner has had enough'))
    this.#farewell = leaving
    const onGone = (): void => {
      this.#time.touch()
      this.#time.log(() => `the client's ${what} has settled`)
      this.#isGone = true
    }
    leaving.then(onGone, (thrown: unknown) => {
      this.faults.push(`${what} was rejected with ${thrown}`)
      onGone()
    })
  }

  /** What waits for its owner is let go of. */
  #giveUp(): void {
    for (const { endings, neglected } of this.#watches) {
      neglected?.destroy()
      for (const one of endings) {
        if (one.isOver) continue
        one.isGivenUp = true
        one.stream.destroy()
      }
    }
  }

  async #checkHealth(): Promise<void> {
    // What doesn't ask whether its peer is still there can't know.
    const { pingInterval, pingTimeout } = this.#plan.options
    this.#peer.heal(pingInterval === 0 || pingTimeout === 0)
    let last = 'nothing'
    for (let attempt = 0; attempt < TRIES; attempt++) {
      last = await this.#askHealthy()
      if (last === 'healthy' || this.#farewell !== null) return
      // A peer that takes no header section of this size is obeyed for as long as its connection lives.
      if (!last.startsWith('RequestHeadersOverflowError')) continue
      this.#peer.heal(true)
      await this.#time.until(() => this.#areSocketsGone, GONE)
    }
    this.faults.push(`a healthy server was asked ${TRIES} times, and at last came ${last}`)
  }

  async #askHealthy(): Promise<string> {
    let outcome: string | null = null
    const limits = {
      queueTimeout: 0,
      connectTimeout: 0,
      headersTimeout: 0,
      bodyTimeout: 0,
      requestTimeout: 0,
    }
    const sizes = { maxResponseSize: -1, maxHeaderSize: 65_536, maxHeadersCount: 2_000 }
    const ask = async (): Promise<string> => {
      const options = { origin: this.#peer.origin, path: '/healthy', method: 'GET', ...limits, ...sizes }
      const { statusCode, body } = await this.#client.request(options)
      const text = await body.text()
      return statusCode === 200 && text === POLITE_BODY ? 'healthy' : `${statusCode} ${text}`
    }
    const onEnd = (value: unknown): void => {
      this.#time.touch()
      outcome = String(value)
    }
    ask().then(onEnd, onEnd)
    await this.#time.until(() => outcome !== null, HEALTHY)
    return outcome ?? 'nothing at all'
  }

  get #areSocketsGone(): boolean {
    return this.#peer.sockets.every(({ destroyed }) => destroyed)
  }

  #blameUnsettled(): void {
    for (const { settled, index, plan, isPassive } of this.#watches)
      if (settled.length === 0 && !isPassive) this.faults.push(`[call ${index}] ${plan.api} hasn't settled`)
  }

  #judge(): void {
    const { faults } = this
    if (!this.#areSocketsGone) faults.push('a socket is open after the client has ended')
    if (this.#time.foreign > 0) faults.push(`${this.#time.foreign} timers are left`)
    for (const watch of this.#watches) this.#judgeCall(watch)
    faults.push(...this.#peer.violations)
  }

  #judgeCall(watch: CallWatch): void {
    const { index, settled, tasks, endings, faults, plan } = watch
    const name = `[call ${index}, ${plan.api}, ${plan.reader}]`
    if (settled.length === 0) this.faults.push(`${name} hasn't settled, and the client is gone`)
    if (settled.length > 1) this.faults.push(`${name} has settled twice: ${settled.join(', ')}`)
    for (const fault of faults) this.faults.push(`${name} ${fault}`)
    if (tasks.size > 0 && !watch.isMissed)
      this.faults.push(`${name}: ${[...tasks.keys()].join(', ')} doesn't come to an end`)
    if (watch.sources > 0) this.faults.push(`${name} hasn't let go of the source of its body`)
    for (const { fault } of endings) if (fault !== null) this.faults.push(fault)
    this.#judgeBody(watch, name)
  }

  /** A body that came to its end is one that the peer has ended, and has all of it. */
  #judgeBody({ whole, index, plan, status }: CallWatch, name: string): void {
    if (whole === null || plan.method === 'HEAD' || plan.api === 'pipeline') return
    if (status === 204 || status === 304) return
    const isOfCall = (stream: SentStream | undefined): boolean => stream?.field('x-call') === `${index}`
    // A peer may respond on a stream before the client's HEADERS have left: then they may never leave.
    const isUnseen = !this.#peer.sides.some(({ ledger }) => [...ledger.streams.values()].some(isOfCall))
    const streams = this.#peer.sides.flatMap(({ ledger, said, mayMiss }) =>
      [...said.streams]
        .filter(([id]) => mayMiss || isUnseen || isOfCall(ledger.streams.get(id)))
        .map(([, stream]) => stream),
    )
    const isWhole = streams.some(
      ({ hasEnded, resetCode, chunks }) =>
        (hasEnded || resetCode === 0) && Buffer.concat(chunks).equals(whole),
    )
    if (!isWhole)
      this.faults.push(`${name} got ${whole.length} bytes as a whole body, which the peer has not sent`)
  }
}
