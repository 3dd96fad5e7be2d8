import type { Clock } from '../../src/core/clock.ts'
import { systemClock } from '../../src/core/clock.ts'
import { toClientOptions, toConnections, toOrigin } from '../../src/core/options.ts'
import type { SchedulerOwner } from '../../src/dispatcher/call-scheduler.ts'
import { CallScheduler } from '../../src/dispatcher/call-scheduler.ts'
import { OriginMemory } from '../../src/session/origin-memory.ts'
import type { ClientOptions, DispatchOptions, PoolOptions } from '../../types/index.ts'
import { Recorder } from './recorder.ts'

/** The engines that `test/session` runs on. */
export const ENGINES = ['node'] as const satisfies readonly ClientOptions['engine'][]

/** A scheduler with a clock of the test's own, and what it announced. */
export class Harness implements SchedulerOwner {
  readonly scheduler: CallScheduler
  readonly events: string[] = []
  readonly errors: Error[] = []

  /** The events of connections alone. */
  get connections(): string[] {
    return this.events.filter((event) => event !== 'drain')
  }

  /** With one connection, like a Client, and without a fallback, unless the options say more. */
  constructor(origin: string, options: PoolOptions = {}, clock: Clock = systemClock) {
    const connections = toConnections({ connections: 1, ...options })
    const resolved = toClientOptions({ fallback: null, ...options })
    const memory = new OriginMemory()
    this.scheduler = new CallScheduler(toOrigin(origin), resolved, connections, clock, memory, this)
  }

  /** Dispatches a GET of `/`, or what the options say. */
  dispatch(options: Partial<DispatchOptions> = {}, recorder = new Recorder()): Recorder {
    this.scheduler.add({ path: '/', method: 'GET', ...options }, recorder)
    return recorder
  }

  onConnect(): void {
    this.events.push('connect')
  }

  onDisconnect(error: Error): void {
    this.events.push('disconnect')
    this.errors.push(error)
  }

  onConnectionError(error: Error): void {
    this.events.push('connectionError')
    this.errors.push(error)
  }

  onDrain(): void {
    this.events.push('drain')
  }
}
