/** The plan of one round of the clients' fuzzer: a function of its seed, and of the engine. */

import type { EngineName, PoolOptions } from '../../../types/index.ts'
import { Random } from '../../protocol/hpack/support.ts'
import type { CallPlan } from './plan-calls.ts'
import { toCallPlan } from './plan-calls.ts'
import type { ConnectionPlan } from './plan-peer.ts'
import { toConnectionPlan } from './plan-peer.ts'

/**
 * What the client's sockets are: a Duplex that a connector yields, or a socket of the loopback interface, by a connector
 * or by the client itself.
 */
export type Transport = 'duplex' | 'socket' | 'own socket'

/** How a round ends the client. */
export type Farewell = 'close' | 'close with a limit' | 'destroy' | 'destroy with an error'

/** All that a round does. */
export interface Plan {
  readonly seed: number
  readonly engine: EngineName
  readonly kind: 'client' | 'pool' | 'agent'
  readonly transport: Transport
  readonly options: PoolOptions
  /** Whether there is a fallback dispatcher. */
  readonly hasFallback: boolean
  readonly calls: readonly CallPlan[]
  /** The plans of the first connections; all further ones get polite responses. */
  readonly connections: readonly ConnectionPlan[]
  /** What happens to the client while its calls run; null for nothing. */
  readonly interruption: { readonly at: number; readonly what: Farewell } | null
  /** Whether a request has to succeed once the calls have ended. */
  readonly checksHealth: boolean
  readonly farewell: Farewell
  /** See `VirtualTime`. */
  readonly quietTurns: number
}

const FAREWELLS: readonly [Farewell, ...Farewell[]] = [
  'destroy',
  'destroy',
  'destroy with an error',
  'close',
  'close with a limit',
]

/** The plan of a seed. */
export function toPlan(seed: number, engine: EngineName): Plan {
  const random = new Random(seed)
  const kind = random.pick(['client', 'client', 'client', 'pool', 'agent'] as const)
  const transport = random.pick([
    ...['duplex', 'duplex', 'duplex', 'duplex', 'duplex', 'duplex', 'duplex', 'duplex'],
    ...['duplex', 'duplex', 'socket', 'own socket'],
  ] as [Transport, ...Transport[]])
  const count = random.pick([1, 1, 2, 2, 3, 4, 6])
  const calls = Array.from({ length: count }, () => toCallPlan(random))
  const connections = Array.from({ length: 1 + random.below(3) }, () => toConnectionPlan(random, calls))
  return {
    seed,
    engine,
    kind,
    transport,
    options: { engine, ...toOptions(random, kind === 'client') },
    hasFallback: random.below(4) === 0,
    calls,
    connections,
    interruption:
      random.below(6) === 0
        ? { at: random.below(random.pick([5, 150])), what: random.pick(FAREWELLS) }
        : null,
    checksHealth: random.below(3) === 0,
    farewell: random.pick(FAREWELLS),
    quietTurns: random.pick([4, 4, 4, 1, 2, 8]),
  }
}

/** Node 20 doesn't report most connection errors: without PINGs nothing ends such a session (docs/differences.md). */
const IS_SILENT = process.versions.node.startsWith('20.')

/** Milliseconds. */
const PING_TIME = 100

/**
 * The same plan as its engine can play it. Engine node refuses a Duplex: its rounds run over sockets. And a client
 * without PINGs would wait for ever on Node 20.
 */
export function toPlayable(plan: Plan): Plan {
  if (plan.engine !== 'node') return plan
  const transport = plan.transport === 'duplex' ? 'socket' : plan.transport
  const { options } = plan
  if (!IS_SILENT) return { ...plan, transport }
  const pingInterval = options.pingInterval || PING_TIME
  const pingTimeout = options.pingTimeout || PING_TIME
  return { ...plan, transport, options: { ...options, pingInterval, pingTimeout } }
}

/** Limits are short, so that a hang is found soon; a limit that is off is replaced by another one. */
function toOptions(random: Random, isSingle: boolean): PoolOptions {
  const rarely = <T>(value: T): T | undefined => (random.below(6) === 0 ? value : undefined)
  const options: PoolOptions = {
    connectTimeout: 300,
    queueTimeout: 400,
    headersTimeout: random.pick([150, 300, 300]),
    bodyTimeout: random.pick([150, 300, 300]),
    uploadTimeout: 300,
    requestTimeout: random.pick([0, 0, 0, 100, 1_000]),
    keepAliveTimeout: random.pick([undefined, 0, 50, 1_000]),
    pingInterval: random.pick([undefined, 0, 20, 100]),
    pingTimeout: random.pick([undefined, 0, 20, 100]),
    initialWindowSize: rarely(random.pick([1, 10, 1_000, 65_535, 100_000])),
    connectionWindowSize: rarely(random.pick([65_535, 70_000, 1_000_000])),
    maxSessionBuffer: rarely(random.pick([65_535, 200_000])),
    maxConcurrentStreams: rarely(random.pick([1, 2])),
    maxResponseSize: rarely(random.pick([0, 10, 20_000])),
    maxHeaderSize: rarely(random.pick([50, 300])),
    maxHeadersCount: rarely(random.pick([1, 2])),
    replaySafe: rarely(false),
    strictContentLength: rarely(false),
    h2Options: rarely({
      settings: {
        headerTableSize: random.pick([0, 100, 4_096]),
        maxFrameSize: random.pick([16_384, 20_000]),
      },
    }),
  }
  return isSingle ? options : { ...options, connections: random.pick([1, 2, 3]) }
}

/** A plan, short enough to be read beside a failure. */
export function describePlan(plan: Plan): string {
  const { connections, calls, options, ...rest } = plan
  const lines = [JSON.stringify(rest), `options ${JSON.stringify(options)}`]
  for (const [index, call] of calls.entries()) lines.push(`call ${index}: ${JSON.stringify(call)}`)
  for (const [index, connection] of connections.entries()) {
    const { groups, ...others } = connection
    lines.push(`connection ${index}: ${JSON.stringify(others)}`)
    for (const { pieces, after, delay, cut } of groups) {
      const first = after === 0 ? '' : `, at ${after} requests`
      lines.push(`  after ${delay} ms${first}, ${cut}: ${pieces.map(describePiece).join('; ')}`)
    }
  }
  return lines.join('\n')
}

const NAMES = [
  ...['DATA', 'HEADERS', 'PRIORITY', 'RST_STREAM', 'SETTINGS', 'PUSH_PROMISE', 'PING', 'GOAWAY'],
  ...['WINDOW_UPDATE', 'CONTINUATION'],
]

/** Bytes that are shown of a frame. */
const SHOWN = 60

function describePiece(piece: Buffer): string {
  if (piece.length < 9) return `bytes ${piece.toString('hex')}`
  const type = piece.readUInt8(3)
  const payload = piece.subarray(9)
  const said = piece.readUIntBE(0, 3)
  const size = said === payload.length ? `${said}` : `${said} but ${payload.length}`
  const text = payload.subarray(0, SHOWN).toString('latin1')
  return `${NAMES[type] ?? `type ${type}`} stream ${piece.readUInt32BE(5)} flags ${piece.readUInt8(4)} of ${size} ${JSON.stringify(text)}`
}
