import { EventEmitter } from 'node:events'
import { onTestFinished, vi } from 'vitest'
import { Call } from '../../../src/call/call.ts'
import type { Clock } from '../../../src/core/clock.ts'
import { systemClock } from '../../../src/core/clock.ts'
import { DEFAULT_ENGINE, toClientOptions, toConnections, toOrigin } from '../../../src/options/options.ts'
import { CallScheduler } from '../../../src/scheduler/call-scheduler.ts'
import type { ConnectionEvents } from '../../../src/scheduler/connection-events.ts'
import { OriginMemory } from '../../../src/session/origin-memory.ts'
import type { SessionFactory } from '../../../src/session/session.ts'
import type { ClientOptions, DispatchOptions, PoolOptions } from '../../../types/index.ts'
import { firstOfSample } from '../clocks/sample.ts'
import { Recorder } from './recorder.ts'

/** The engines that `test/session` runs on. Engine `wire` needs nothing of a line of Node but its sockets and timers. */
export const ENGINES = firstOfSample(['node', 'wire'] as const satisfies readonly ClientOptions['engine'][])

type Engine = (typeof ENGINES)[number]

/** Where the engines differ, and are meant to. In all else one test holds for both. */
interface Differences {
  /** Entries of the first SETTINGS that no option asks for, by their ids. */
  readonly ownSettings: Readonly<Record<number, number>>
  /** The receive window of a connection where no option says what it is to be. Bytes. */
  readonly firstConnectionWindow: number
  /** The connection's credit comes back for unread data, too. */
  readonly refundsUnread: boolean
  /** A body that is longer than its `content-length` ends the whole session. */
  readonly endsForLongBody: boolean
}

/** What node:http2 leaves no choice about is in docs/differences.md. */
const DIFFERENCES: Readonly<Record<Engine, Differences>> = {
  node: {
    ownSettings: {},
    firstConnectionWindow: 16_777_259,
    refundsUnread: true,
    // From Node 22 on: nghttp2's error is one of the session there.
    endsForLongBody: Number(process.versions.node.split('.')[0]) >= 22,
  },
  wire: {
    // RFC 9218 §2.1: SETTINGS_NO_RFC7540_PRIORITIES, which node:http2 can't say.
    ownSettings: { 9: 1 },
    // It follows what the path holds, up to as much as the other's.
    firstConnectionWindow: 4_194_319,
    refundsUnread: false,
    endsForLongBody: false,
  },
}

/** What holds for the engine of a client that names none. */
export const HERE: Differences = DIFFERENCES[DEFAULT_ENGINE]

/**
 * Notes the header objects that the engine makes from here on, of informational responses too. For `node` those that
 * node:http2 emits; for `wire` those that a stream gives to its call, since nothing lies below.
 */
export function watchHeaderObjects(): () => unknown[] {
  if (DEFAULT_ENGINE === 'node') {
    const emit = vi.spyOn(EventEmitter.prototype, 'emit')
    onTestFinished(() => emit.mockRestore())
    return () =>
      emit.mock.calls
        .filter(([event]) => event === 'response' || event === 'headers')
        .map(([, object]) => object)
  }
  const respond = vi.spyOn(Call.prototype, 'respond')
  const upgrade = vi.spyOn(Call.prototype, 'upgrade')
  onTestFinished(() => {
    respond.mockRestore()
    upgrade.mockRestore()
  })
  return () => [...respond.mock.calls, ...upgrade.mock.calls].map(([, object]) => object)
}

/** A scheduler with a clock of the test's own, and what it announced. */
export class Harness implements ConnectionEvents {
  readonly scheduler: CallScheduler
  readonly events: string[] = []
  readonly errors: Error[] = []

  /** The events of connections alone. */
  get connections(): string[] {
    return this.events.filter((event) => event !== 'drain')
  }

  /** With one connection, like a Client, and without a fallback, unless the options say more. */
  constructor(
    origin: string,
    options: PoolOptions = {},
    clock: Clock = systemClock,
    toSession?: SessionFactory,
  ) {
    const connections = toConnections({ connections: 1, ...options })
    const resolved = toClientOptions({ fallback: null, ...options })
    const memory = new OriginMemory(clock)
    const where = toOrigin(origin)
    this.scheduler = new CallScheduler(where, resolved, connections, clock, memory, this, toSession)
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
