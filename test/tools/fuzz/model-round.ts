/** One round with a model server: what must come of each call follows from the plan. */

import { ErrorCode } from '../../../src/errors/error-codes.ts'
import { Client, Pool } from '../../../src/index.ts'
import type { Dispatcher, RequestBody } from '../../../types/index.ts'
import { Random } from '../../protocol/hpack/support.ts'
import type { ModelCall, ModelPlan } from './model-plan.ts'
import { toModelBody } from './model-plan.ts'
import { ModelServer } from './model-server.ts'
import type { ModelOwner } from './model-side.ts'
import type { Port } from './peer.ts'
import type { Uncaught } from './round.ts'
import type { VirtualTime } from './virtual-time.ts'

/** Virtual milliseconds: every call has settled by then, a client is gone. */
const SETTLED = { legal: 2_000_000, illegal: 400_000 }
const GONE = 20_000
/** How often a server that is healthy again may be asked until it responds. */
const TRIES = 3
const SLOW = 2
/** So many refusals in a row are the last ones where no call gets a response (docs/retries.md). */
const MAX_REFUSALS = 4

/** How a call ended. */
interface Outcome {
  readonly status: number | null
  readonly fields: Readonly<Record<string, unknown>>
  readonly content: Buffer
  readonly trailers: Readonly<Record<string, unknown>>
  /** Null: it has succeeded. */
  readonly error: unknown
}

/** Plays a round. @returns its failures; empty when every check held */
export async function playModelRound(
  plan: ModelPlan,
  time: VirtualTime,
  port: Port,
  uncaught: Uncaught,
): Promise<string[]> {
  const round = new ModelRound(plan, time, port)
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

class ModelRound {
  readonly faults: string[] = []
  readonly #plan: ModelPlan
  readonly #time: VirtualTime
  readonly #server: ModelServer
  readonly #client: Dispatcher
  readonly #outcomes: (Outcome | null)[]
  /** How often the server has taken each call up, and has refused it. */
  readonly #taken: number[]
  readonly #refused: number[]

  constructor(plan: ModelPlan, time: VirtualTime, port: Port) {
    this.#plan = plan
    this.#time = time
    this.#outcomes = plan.calls.map(() => null)
    this.#taken = plan.calls.map(() => 0)
    this.#refused = plan.calls.map(() => 0)
    const count = (counts: number[]) => (call: number) => {
      counts[call] = (counts[call] ?? 0) + 1
    }
    const health: ModelCall = HEALTH
    const owner: ModelOwner = {
      isOfNode: plan.engine === 'node',
      calls: [...plan.calls, health],
      onTaken: count(this.#taken),
      onRefused: count(this.#refused),
      onFault: (what) => this.faults.push(what),
    }
    this.#server = new ModelServer(plan, owner, time, port)
    const options = { ...plan.options, fallback: null, connect: this.#server.connector }
    const origin = 'http://model.example'
    this.#client =
      plan.kind === 'client' ? new Client(origin, options) : new Pool(origin, { ...options, connections: 2 })
    time.quietTurns = plan.quietTurns
    time.isBusy = () => this.#server.isBusy
  }

  async play(): Promise<void> {
    const { calls, model } = this.#plan
    for (const [index, call] of calls.entries()) {
      if (call.at === 0) this.#start(call, index)
      else this.#time.after(call.at, () => this.#start(call, index))
    }
    const haveSettled = (): boolean => this.#outcomes.every((outcome) => outcome !== null)
    const isWhole = await this.#time.until(haveSettled, SETTLED[model])
    if (!isWhole) this.#blameUnsettled()
    if (isWhole && model === 'illegal') await this.#checkHealth()
    // A client whose calls have ended can close; with one that hangs, there is nothing to learn of that.
    let isGone = false
    const onGone = (): void => {
      this.#time.touch()
      isGone = true
    }
    const leaving = isWhole && model === 'legal' ? this.#client.close() : this.#client.destroy()
    leaving.then(onGone, (thrown: unknown) => {
      this.faults.push(`the client's end was rejected with ${thrown}`)
      onGone()
    })
    if (!(await this.#time.until(() => isGone, GONE))) this.faults.push('the client has not ended')
    const areClosed = (): boolean => this.#server.sockets.every(({ destroyed }) => destroyed)
    await this.#time.pass(GONE, areClosed)
    await this.#time.pass(100)
    if (!areClosed()) this.faults.push('a socket is open after the client has ended')
    if (this.#time.foreign > 0) this.faults.push(`${this.#time.foreign} timers are left`)
    for (const [index, call] of calls.entries()) this.#judge(call, index)
    this.#server.destroy()
    await this.#time.pass(1)
  }

  #start(call: ModelCall, index: number): void {
    this.#ask(call, index).then((outcome) => {
      this.#time.touch()
      this.#time.log(() => `call ${index} has ended with ${outcome.error ?? outcome.status}`)
      this.#outcomes[index] = outcome
    })
  }

  async #ask(call: ModelCall, index: number): Promise<Outcome> {
    const { method, fields, abortsAt, reader } = call
    const chunks: Buffer[] = []
    let came: Pick<Outcome, 'status' | 'fields'> = { status: null, fields: {} }
    const controller = new AbortController()
    if (abortsAt !== null) this.#time.after(abortsAt, () => controller.abort())
    try {
      const response = await this.#client.request({
        ...{ origin: 'http://model.example', path: `/${index}`, method },
        headers: { ...fields, 'x-call': `${index}` },
        body: this.#toBody(call, index),
        signal: controller.signal,
      })
      came = { status: response.statusCode, fields: response.headers }
      for await (const chunk of response.body) {
        this.#time.touch()
        chunks.push(chunk)
        if (reader === 'slow') await this.#time.sleep(SLOW)
      }
      return { ...came, content: Buffer.concat(chunks), trailers: response.trailers, error: null }
    } catch (error) {
      return {
        ...came,
        content: Buffer.concat(chunks),
        trailers: {},
        error: error ?? new Error('nothing at all'),
      }
    }
  }

  #toBody({ upload }: ModelCall, index: number): RequestBody {
    if (upload.kind === 'none') return null
    const body = toModelBody(upload.size, index)
    if (upload.kind === 'bytes') return body
    const time = this.#time
    return async function* () {
      for (let at = 0; at < body.length; at += upload.piece) {
        if (upload.gap > 0) await time.sleep(upload.gap)
        time.touch()
        yield body.subarray(at, at + upload.piece)
      }
    }
  }

  #blameUnsettled(): void {
    for (const [index, outcome] of this.#outcomes.entries())
      if (outcome === null)
        this.faults.push(`[call ${index}] ${this.#plan.calls[index]?.method} has not settled`)
  }

  async #checkHealth(): Promise<void> {
    this.#server.heal()
    const outcomes: Outcome[] = []
    for (let attempt = 0; attempt < TRIES; attempt++) {
      this.#ask(HEALTH, this.#plan.calls.length).then((outcome) => {
        this.#time.touch()
        outcomes.push(outcome)
      })
      await this.#time.until(() => outcomes.length > attempt, SETTLED.illegal)
      const last = outcomes[attempt]
      if (last === undefined) break
      if (last.error === null && last.status === 200) return
    }
    const last = outcomes.at(-1)
    this.faults.push(
      `a healthy server was asked ${outcomes.length} times, and at last came ${last?.error ?? last?.status}`,
    )
  }

  #judge(call: ModelCall, index: number): void {
    const outcome = this.#outcomes[index] ?? null
    if (outcome === null) return
    const blame = (what: string): void => {
      this.faults.push(`[call ${index}, ${call.method}] ${what}`)
    }
    const { error } = outcome
    const taken = this.#taken[index] ?? 0
    const isSafe = call.method === 'GET' || call.method === 'HEAD'
    if (taken > 1 && (!isSafe || this.#plan.model === 'legal')) blame(`was taken up ${taken} times`)
    const hasBody = call.method !== 'HEAD' && ![204, 304].includes(call.response.status)
    const wanted = toModelBody(hasBody ? call.response.size : 0, index + 100)
    if (error === null) this.#judgeResponse(call, outcome, wanted, blame)
    else this.#judgeError(call, index, error, blame)
    // Also of a call that has failed, all that came is the beginning of its body.
    if (
      !wanted.subarray(0, outcome.content.length).equals(outcome.content) ||
      outcome.content.length > wanted.length
    )
      blame(`got ${outcome.content.length} octets that aren't of its body`)
  }

  #judgeResponse(call: ModelCall, outcome: Outcome, wanted: Buffer, blame: (what: string) => void): void {
    const { response, method } = call
    if (outcome.status !== response.status) blame(`got status ${outcome.status}, and not ${response.status}`)
    if (outcome.content.length !== wanted.length)
      blame(`succeeded with ${outcome.content.length} octets of ${wanted.length}`)
    const hasBody = method !== 'HEAD' && ![204, 304].includes(response.status)
    if (response.resetCode !== null && hasBody) blame('succeeded, and was reset')
    for (const [name, value] of Object.entries(response.fields))
      if (outcome.fields[name] !== value) blame(`got field ${name} as ${String(outcome.fields[name])}`)
    for (const [name, value] of Object.entries(response.trailers ?? {}))
      if (response.resetCode === null && outcome.trailers[name] !== value)
        blame(`got trailer ${name} as ${String(outcome.trailers[name])}`)
  }

  #judgeError(call: ModelCall, index: number, error: unknown, blame: (what: string) => void): void {
    const { code, processed, http2ErrorCode, name, message } = error as Record<string, unknown>
    if (!(error instanceof Error) || !message) {
      blame(`failed with ${String(error)}`)
      return
    }
    if (call.abortsAt !== null && name === 'AbortError') return
    if (typeof code !== 'string') blame(`failed with an error that has no code: ${error.stack}`)
    if (processed === 'no' && (this.#taken[index] ?? 0) > 0)
      blame(`was taken up, and says processed: 'no': ${error}`)
    if (this.#plan.model === 'illegal') return
    const isReset = call.response.resetCode !== null && http2ErrorCode === call.response.resetCode
    const isRefusedForGood =
      http2ErrorCode === ErrorCode.REFUSED_STREAM && (this.#refused[index] ?? 0) >= MAX_REFUSALS
    if (!isReset && !isRefusedForGood)
      blame(`failed with ${error}${error.cause === undefined ? '' : `, because of ${error.cause}`}`)
  }
}

/** What a healthy server is asked. */
const HEALTH: ModelCall = {
  method: 'GET',
  at: 0,
  fields: {},
  upload: { kind: 'none', size: 0, piece: 1, gap: 0 },
  reader: 'at once',
  abortsAt: null,
  response: {
    ...{
      status: 200,
      fields: {},
      size: 1,
      piece: 1,
      gap: 0,
      hasLength: true,
      informational: 0,
      trailers: null,
    },
    ...{ isPadded: false, isEarly: false, resetCode: null },
  },
}
