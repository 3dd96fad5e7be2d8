import type { Dispatcher } from '../../../src/index.ts'
import { errors } from '../../../src/index.ts'

/** How one request of a load ended. */
export interface Outcome {
  /** Its method and path, by which a server's log knows it. */
  readonly name: string
  readonly method: 'GET' | 'POST'
  /** Its response's status with the server's echo, from `x-echo` or the body; null when it failed. */
  readonly response: string | null
  readonly error: unknown
}

interface LoadOptions {
  readonly origin: string
  /** How many requests are out at any time. */
  readonly inFlight: number
  /** The method of the request with this number, which counts from 0. */
  readonly toMethod: (index: number) => 'GET' | 'POST'
  /** By Node's own fetch, in place of the dispatcher's `request()`. */
  readonly byFetch?: boolean
}

/** A load that never ends by itself would hang a test that goes wrong. */
const MAX_REQUESTS = 100_000

/** Requests, each with a path of its own: as soon as one gets its response, or fails, the next one is sent. */
export class SteadyLoad {
  readonly outcomes: Outcome[] = []
  readonly #dispatcher: Dispatcher
  readonly #options: LoadOptions
  readonly #out = new Set<Promise<void>>()
  #waiting: { readonly settled: number; readonly resolve: () => void }[] = []
  #sent = 0
  #isEnding = false

  constructor(dispatcher: Dispatcher, options: LoadOptions) {
    this.#dispatcher = dispatcher
    this.#options = options
  }

  /** Sends this many requests, and settles once all of them have. */
  async run(count: number): Promise<void> {
    const lane = async (): Promise<void> => {
      while (!this.#isEnding && this.#sent < count) await this.#send()
    }
    await Promise.all(Array.from({ length: this.#options.inFlight }, lane))
  }

  /** Goes on until what accompanies it is over, and settles with the last request. */
  async runDuring(accompany: () => Promise<void>): Promise<void> {
    const end = (): void => {
      this.#isEnding = true
    }
    const sent = this.run(MAX_REQUESTS)
    await Promise.all([sent, accompany().finally(end)])
  }

  /** Settles once this many more requests have settled, and all that are out now are among them. */
  async pass(count: number): Promise<void> {
    const out = [...this.#out]
    const settled = this.outcomes.length + count
    await new Promise<void>((resolve) => this.#waiting.push({ settled, resolve }))
    await Promise.all(out)
  }

  #send(): Promise<void> {
    const index = this.#sent++
    const one = this.#ask(this.#options.toMethod(index), `/${index}`).then((outcome) => {
      this.outcomes.push(outcome)
      this.#out.delete(one)
      const settled = this.outcomes.length
      for (const waiting of this.#waiting) if (waiting.settled <= settled) waiting.resolve()
      this.#waiting = this.#waiting.filter((waiting) => waiting.settled > settled)
    })
    this.#out.add(one)
    return one
  }

  async #ask(method: 'GET' | 'POST', path: string): Promise<Outcome> {
    const name = `${method} ${path}`
    try {
      const body = method === 'POST' ? `body of ${name}` : null
      const response = this.#options.byFetch === true ? this.#fetch : this.#request
      return { name, method, response: await response.call(this, method, path, body), error: null }
    } catch (error) {
      return { name, method, response: null, error: toOwnError(error) }
    }
  }

  async #request(method: 'GET' | 'POST', path: string, body: string | null): Promise<string> {
    const { origin } = this.#options
    const response = await this.#dispatcher.request({ origin, method, path, body })
    return `${response.statusCode} ${response.headers['x-echo'] ?? ''}${await response.body.text()}`
  }

  async #fetch(method: 'GET' | 'POST', path: string, body: string | null): Promise<string> {
    const init: RequestInit = { method, body, dispatcher: this.#dispatcher }
    const response = await fetch(`${this.#options.origin}${path}`, init)
    return `${response.status} ${response.headers.get('x-echo') ?? ''}${await response.text()}`
  }
}

/** fetch fails with a TypeError, whose cause is the error of the call. */
function toOwnError(error: unknown): unknown {
  return error instanceof TypeError && error.cause instanceof errors.DodiciError ? error.cause : error
}

/** So many say what is wrong; a thousand hide it. */
const MAX_LOSSES = 20

/**
 * The requests that were lost, or got another response than the server's echo: a line each, and the number of further
 * ones.
 */
export function findLosses(outcomes: readonly Outcome[]): string[] {
  const losses = outcomes
    .filter(({ name, response }) => response !== `200 ${name}` && response !== `204 ${name}`)
    .map(({ name, response, error }) => `${name}: ${error === null ? response : toChain(error)}`)
  const further = losses.splice(MAX_LOSSES).length
  return further === 0 ? losses : [...losses, `and ${further} more`]
}

/** Whether the server may have acted on a call that failed with this; what isn't an error of ours stays as it is. */
export function toProcessed(error: unknown): unknown {
  return error instanceof errors.DodiciError ? error.processed : error
}

/** An error with all that lies beneath it. */
function toChain(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const facts =
    error instanceof errors.DodiciError
      ? ` [processed ${error.processed}, attempts ${error.attempts}, stream ${error.streamId},` +
        ` code ${error.http2ErrorCode}, debug data ${error.goawayDebugData}]`
      : ''
  const cause = error.cause === undefined ? '' : ` <- ${toChain(error.cause)}`
  return `${error.name} ${'code' in error ? error.code : ''} ${error.message}${facts}${cause}`
}
