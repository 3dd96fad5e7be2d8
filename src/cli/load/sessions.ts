/**
 * One thread's sessions.
 *
 * @module
 */

import { createSecureContext } from 'node:tls'
import type { ClientOptions, Connector } from '../../../types/client.ts'
import type { DispatchController, DispatchHandler } from '../../../types/handler.ts'
import type { DispatchOptions } from '../../../types/request.ts'
import { noop } from '../../core/noop.ts'
import type { Client } from '../../index.ts'
import { dial, openSocket, toNoFacts } from '../inspect/dial.ts'
import type { LoadJob } from './load-job.ts'
import type { Lane, Sender } from './load-run.ts'

/** Settles when one request has ended. */
class FirstRequest implements DispatchHandler {
  readonly #resolve: () => void
  readonly #reject: (error: Error) => void

  private constructor(resolve: () => void, reject: (error: Error) => void) {
    this.#resolve = resolve
    this.#reject = reject
  }

  static send(sender: Sender, options: DispatchOptions): Promise<void> {
    return new Promise((resolve, reject) => {
      sender.dispatch(options, new FirstRequest(resolve, reject))
    })
  }

  onRequestStart(): void {}
  onResponseStart(): void {}
  onResponseData(): void {}

  onResponseEnd(): void {
    this.#resolve()
  }

  onResponseError(_controller: DispatchController, error: Error): void {
    this.#reject(error)
  }
}

/** Clients with one session each. */
export class Sessions {
  readonly lanes: readonly Lane[]
  readonly #clients: readonly Client[]

  private constructor(clients: readonly Client[], streams: number) {
    this.#clients = clients
    this.lanes = clients.map((client) => {
      const limit = client.stats.sessions[0]?.limit ?? streams
      return { sender: client, streams: Math.max(1, Math.min(streams, limit)) }
    })
  }

  /**
   * Opens the sessions: each sends one request, which must get a response. The first one goes alone, so that a server
   * that isn't there is asked only once.
   *
   * @param signal cancels it
   * @throws the error of a request
   */
  static async open(
    job: LoadJob,
    options: readonly DispatchOptions[],
    signal: AbortSignal,
  ): Promise<Sessions> {
    const { Client } = await import('../../index.ts')
    const clients = Array.from({ length: job.sessions }, () => new Client(job.origin, toClientOptions(job)))
    const destroy = async (): Promise<void> => void (await Promise.all(clients.map(end)))
    signal.addEventListener('abort', destroy)
    try {
      // It may have fired while the client was loaded.
      signal.throwIfAborted()
      const [first, ...others] = clients
      const [request] = options
      if (first === undefined || request === undefined) throw new Error('a job needs a session and a request')
      await FirstRequest.send(first, request)
      await Promise.all(others.map((client) => FirstRequest.send(client, request)))
    } catch (error) {
      await destroy()
      throw error
    } finally {
      signal.removeEventListener('abort', destroy)
    }
    return new Sessions(clients, job.streams)
  }

  /** Ends them at once, with what is in flight. */
  async destroy(): Promise<void> {
    await Promise.all(this.#clients.map(end))
  }
}

function end(client: Client): Promise<void> {
  return client.destroy()
}

/** Connects to addresses other than the origin's. */
function toConnector({ address, origin, trust }: LoadJob): Connector | null {
  if (address === null) return null
  const { hostname, protocol } = new URL(origin)
  const isTls = protocol === 'https:'
  const target = {
    hostname: hostname.replace(/^\[(.+)\]$/, '$1'),
    isTls,
    unixSocket: null,
    trust,
    secureContext: isTls ? createSecureContext(trust) : undefined,
    ...address,
  }
  return ({ signal }) => {
    return dial(target, openSocket, toNoFacts(), noop, signal ?? new AbortController().signal)
  }
}

function toClientOptions(job: LoadJob): ClientOptions {
  const { trust, timeout } = job
  return {
    engine: 'wire',
    connect: toConnector(job) ?? trust,
    fallback: null,
    connectTimeout: timeout,
    requestTimeout: timeout,
    // The limit for the whole request is enough.
    queueTimeout: 0,
    headersTimeout: 0,
    bodyTimeout: 0,
    uploadTimeout: 0,
    // A request that is lost with its connection is a result.
    replaySafe: false,
  }
}
