/** Runs a case for a fetch, and tells what came of it. */

import { AsyncLocalStorage } from 'node:async_hooks'
import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import * as dodici from '../../../src/index.ts'
import { ABORTS } from './standard-aborts.ts'
import { CODED } from './standard-codings.ts'
import { REDIRECTS } from './standard-redirects.ts'
import { REQUEST_BODIES } from './standard-request-bodies.ts'
import { REQUEST_HEADERS } from './standard-request-headers.ts'
import { REQUEST_INPUTS } from './standard-request-inputs.ts'
import { REQUESTS } from './standard-requests.ts'
import { RESPONSE_BODIES } from './standard-response-bodies.ts'
import { RESPONSES } from './standard-responses.ts'
import type { Case, Fetch } from './standard-scene.ts'
import { Scene } from './standard-scene.ts'
import { SCHEMED } from './standard-schemes.ts'
import type { Protocol, Servers } from './standard-servers.ts'
import { STREAMS } from './standard-streams.ts'

export const PROTOCOLS: readonly Protocol[] = ['HTTP/1.1', 'HTTP/2']

export const CASES: readonly Case[] = [
  ...REQUESTS,
  ...REQUEST_HEADERS,
  ...REQUEST_BODIES,
  ...REQUEST_INPUTS,
  ...RESPONSES,
  ...RESPONSE_BODIES,
  ...STREAMS,
  ...REDIRECTS,
  ...CODED,
  ...ABORTS,
  ...SCHEMED,
]

export type SubjectName = 'Dodici' | "Node's own"

/** Null for a case that passes. */
export type Verdict = Error | null

/**
 * How many exchanges with the same servers, one after another with a pause between them (in milliseconds), a case may take: a bound on
 * one that hangs. On a busy machine all of them take longer, as the case does.
 */
const MAX_EXCHANGES = 60
const PAUSE = 50

/** As many cases of Node's own run at the same time: some of them hang. */
const CONCURRENCY = 8

/** Each case is run once for each fetch and protocol, however often it is asked what came of it. */
export class Judge {
  readonly #servers: Servers
  readonly #ours = new Map<string, Promise<Verdict>>()
  readonly #nodes = new Map<Protocol, Promise<Map<Case, Verdict>>>()

  constructor(servers: Servers) {
    this.#servers = servers
  }

  /** Runs our fetch through an Agent of its own: `http:` origins go by its fallback. */
  judge(protocol: Protocol, one: Case): Promise<Verdict> {
    const key = `${protocol} ${toTitle(one)}`
    const verdict = this.#ours.get(key) ?? this.#runOurs(protocol, one)
    this.#ours.set(key, verdict)
    return verdict
  }

  /** What a fetch passes. */
  async toPassed(name: SubjectName, protocol: Protocol): Promise<ReadonlySet<Case>> {
    const passed = new Set<Case>()
    const nodes = this.#nodes.get(protocol) ?? this.#runNodes(protocol)
    this.#nodes.set(protocol, nodes)
    for (const one of CASES) {
      const verdict = name === 'Dodici' ? await this.judge(protocol, one) : (await nodes).get(one)
      if (verdict === null) passed.add(one)
    }
    return passed
  }

  async #runOurs(protocol: Protocol, one: Case): Promise<Verdict> {
    const agent = new dodici.Agent({ connect: { ca: this.#servers.ca } })
    // The arguments of a call are the case's alone.
    dodici.setGlobalDispatcher(agent)
    try {
      return await this.#run((...args) => Reflect.apply(dodici.fetch, undefined, args), protocol, one)
    } finally {
      await agent.destroy()
    }
  }

  /**
   * Node's own goes through our Agents over HTTP/2, and over HTTP/1.1 through what Node has. Each case has an Agent of
   * its own: some make the server end the connection, and what runs beside them must not go with it.
   */
  async #runNodes(protocol: Protocol): Promise<Map<Case, Verdict>> {
    const agents = new AsyncLocalStorage<dodici.Agent>()
    if (protocol === 'HTTP/2') {
      dodici.install({
        dispatch(options, handler) {
          const agent = agents.getStore()
          if (agent === undefined) throw new Error('A request came from no case')
          return agent.dispatch(options, handler)
        },
      })
    }
    const verdicts = new Map<Case, Verdict>()
    const left = [...CASES]
    const work = async (): Promise<void> => {
      for (let one = left.shift(); one !== undefined; one = left.shift()) {
        const agent = new dodici.Agent({ connect: { ca: this.#servers.ca } })
        const run = () => this.#run((...args) => Reflect.apply(fetch, undefined, args), protocol, one)
        verdicts.set(one, await agents.run(agent, run))
        await agent.destroy()
      }
    }
    try {
      await Promise.all(Array.from({ length: CONCURRENCY }, work))
      return verdicts
    } finally {
      if (protocol === 'HTTP/2') dodici.uninstall()
    }
  }

  async #run(fetch: Fetch, protocol: Protocol, one: Case): Promise<Verdict> {
    const over = new AbortController()
    try {
      await Promise.race([one.run(new Scene(fetch, protocol, this.#servers)), this.#bound(over.signal)])
      return null
    } catch (error) {
      return error instanceof Error ? error : new Error('A case threw what is no error', { cause: error })
    } finally {
      over.abort()
    }
  }

  /** Fails once the servers have had the time for so many exchanges; until then the case may be one that is slow. */
  async #bound(over: AbortSignal): Promise<never> {
    for (let count = 0; count < MAX_EXCHANGES; count++) {
      await setTimeout(PAUSE, undefined, { signal: over })
      await exchange(this.#servers.raw)
    }
    throw new Error('This case hangs')
  }
}

/** One exchange with the process of the servers, by none of the fetches. */
async function exchange(origin: string): Promise<void> {
  const { hostname, port } = new URL(origin)
  const socket = connect(Number(port), hostname)
  socket.end('GET / HTTP/1.1\r\n\r\n').resume()
  await once(socket, 'close')
}

export function toTitle({ section, what }: Case): string {
  return `${section} › ${what}`
}
