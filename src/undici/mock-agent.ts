/**
 * undici's MockAgent and SnapshotAgent over Dodici's agent.
 *
 * @module
 */

import type { DispatchOptions } from '../../types/request.ts'
import { Dispatcher } from '../index.ts'
import { installed, toName } from './installed.ts'
import { findSymbol, recogniseParents, requireSymbol } from './symbols.ts'

interface MockAgentOptions {
  readonly agent?: unknown
}

interface Closable {
  close(): Promise<void>
}

type MockAgentClass = new (options?: MockAgentOptions) => Closable

/** A form that fetch has encoded: mocks see the form itself. */
interface MockedOptions extends DispatchOptions {
  readonly __mockAgentBodyForDispatch?: DispatchOptions['body']
}

/** Where a MockAgent keeps Dodici's agent. */
const AGENT = Symbol('agent')

type Handler = Parameters<Dispatcher['dispatch']>[1]

/** The handler of undici 7's SnapshotAgent has no method for errors. undici's Agent throws one then. */
function throwError(_controller: unknown, error: Error): never {
  throw error
}

/** What a SnapshotAgent uses to send requests. */
class RecordedAgent {
  readonly #agent: Dispatcher

  constructor(agent: Dispatcher) {
    this.#agent = agent
  }

  dispatch(options: DispatchOptions, handler: Handler): boolean {
    return this.#agent.dispatch(options, { onResponseError: throwError, ...handler })
  }

  close(): Promise<void> {
    return this.#agent.close()
  }
}

/**
 * undici's MockAgent stores its mocks in the agent that it is given, under one of undici's own symbols. With Dodici's
 * agent, it stores them in undici's Agent, which sends nothing: requests that no mock handles go to Dodici's.
 */
function toMockAgent(parent: MockAgentClass): MockAgentClass {
  const factory = requireSymbol(parent.prototype, 'factory')
  const make: (this: unknown, origin: string) => object = Reflect.get(parent.prototype, factory)

  class MockAgent extends parent {
    // No private field: undici's `compose()` makes a Proxy, which has none.
    readonly [AGENT]: Dispatcher | null

    constructor(options?: MockAgentOptions) {
      const agent = options?.agent instanceof Dispatcher ? options.agent : null
      super(agent === null ? options : { ...options, agent: undefined })
      this[AGENT] = agent
      // By which a SnapshotAgent sends what it records.
      const real = findSymbol(this, 'kRealAgent')
      if (agent !== null && real !== undefined) Reflect.set(this, real, new RecordedAgent(agent))
    }

    /** Creates a MockPool or a MockClient. */
    static make(mockAgent: MockAgent, origin: string): object {
      const mock = Reflect.apply(make, mockAgent, [origin])
      const agent = mockAgent[AGENT]
      if (agent === null) return mock
      const value = (options: MockedOptions, handler: Handler): boolean => {
        const { __mockAgentBodyForDispatch: body = options.body, ...sent } = options
        return agent.dispatch({ ...sent, body, origin: options.origin ?? origin }, handler)
      }
      // Below its own dispatch(), which asks the mocks first.
      Object.defineProperty(mock, requireSymbol(mock, 'dispatch'), { value })
      return mock
    }

    /** Closes the agent, too, as undici's own does. */
    override async close(): Promise<void> {
      await super.close()
      const agent = this[AGENT]
      if (agent?.closed === false && !agent.destroyed) await agent.close()
    }
  }

  Object.defineProperty(MockAgent.prototype, factory, {
    value(this: MockAgent, origin: string): object {
      return MockAgent.make(this, origin)
    },
  })
  recogniseParents(MockAgent)
  return MockAgent
}

function isMockAgentClass(value: unknown): value is MockAgentClass {
  return typeof value === 'function'
}

function wrap(name: 'MockAgent' | 'SnapshotAgent'): unknown {
  const theirs = installed.state === 'loaded' ? Reflect.get(installed.names, name) : undefined
  return isMockAgentClass(theirs) ? toMockAgent(theirs) : toName(name, installed)
}

/** undici's MockAgent; its option `agent` may be Dodici's dispatcher. */
export const MockAgent = wrap('MockAgent')

/** undici's SnapshotAgent; its option `agent` may be Dodici's dispatcher. */
export const SnapshotAgent = wrap('SnapshotAgent')
