/** The plan of one round with a model server: a function of its seed, of the engine, and of whether the server stays legal. */

import type { EngineName, PoolOptions } from '../../../types/index.ts'
import { Random } from '../../protocol/hpack/support.ts'
import type { ViolationName } from './model-violations.ts'
import { VIOLATIONS } from './model-violations.ts'

/** A server that is always right, or one that is wrong once. */
export type ModelName = 'legal' | 'illegal'

export type ModelFields = Readonly<Record<string, string>>

/** One call, and its response. */
export interface ModelCall {
  readonly method: 'GET' | 'HEAD' | 'POST' | 'PUT'
  /** Milliseconds. */
  readonly at: number
  readonly fields: ModelFields
  readonly upload: {
    readonly kind: 'none' | 'bytes' | 'generator'
    readonly size: number
    readonly piece: number
    readonly gap: number
  }
  readonly reader: 'at once' | 'slow'
  /** When its caller aborts it; null: never. */
  readonly abortsAt: number | null
  readonly response: ModelResponse
}

export interface ModelResponse {
  readonly status: number
  readonly fields: ModelFields
  readonly size: number
  /** The most that a DATA frame has. */
  readonly piece: number
  readonly gap: number
  readonly hasLength: boolean
  readonly informational: number
  readonly trailers: ModelFields | null
  readonly isPadded: boolean
  /** Before the body has been read. */
  readonly isEarly: boolean
  /** RST_STREAM in place of the second half; null: none. */
  readonly resetCode: number | null
}

/** SETTINGS: the window of a stream, and how many there may be. */
interface ModelSettings {
  readonly window: number
  readonly streams: number
  readonly frameSize: number
  readonly tableSize: number
}

export interface ModelServerPlan {
  /** Threads for the requests of a connection. Each is blocked by one body. */
  readonly threads: number
  /** When the connection's credit comes back: as a body is read, or as it comes in. */
  readonly credit: 'as read' | 'as it comes'
  /** Whether credit is collected up to half of a window. */
  readonly collectsCredit: boolean
  readonly readPiece: number
  readonly readGap: number
  readonly first: ModelSettings
  readonly changes: readonly { readonly at: number; readonly settings: ModelSettings }[]
  /** A request of so many is refused; 0: none. */
  readonly refuses: number
  /** Requests after which a connection is retired; 0: never. */
  readonly retiresAfter: number
  readonly retiresInTwoSteps: boolean
  readonly pings: number
  /** PRIORITY, and frames and settings that nobody knows. */
  readonly isNoisy: boolean
  readonly cut: 'whole' | 'parts' | 'bytes'
  readonly settingsDelay: number
  /** What is wrong, and behind how many frames; null: nothing is. */
  readonly violation: { readonly name: ViolationName; readonly after: number } | null
}

export interface ModelPlan {
  readonly seed: number
  readonly engine: EngineName
  readonly model: ModelName
  readonly kind: 'client' | 'pool'
  readonly transport: 'duplex' | 'socket'
  readonly takes: 'at once' | 'in a tick' | 'in a turn' | 'slowly'
  readonly options: PoolOptions
  readonly calls: readonly ModelCall[]
  readonly server: ModelServerPlan
  /** See `VirtualTime`. */
  readonly quietTurns: number
}

/** Bytes of all bodies in one direction. */
const MOST = 1_000_000
/** DATA frames, or WINDOW_UPDATEs, for one body. */
const MOST_FRAMES = 60
const WINDOW = 65_535
/** As many threads as there may be calls. */
const MANY = 1_000
/** Names and values of fields: few enough to come again, and some too long for a table. */
const NAMES = 12
const VALUES = [
  '',
  'a',
  'yes',
  'gzip, br',
  'x'.repeat(40),
  'text/plain; charset=utf-8',
  'y'.repeat(300),
  'z'.repeat(2_000),
]

/** Node 20 doesn't report most connection errors: without PINGs nothing ends such a session (docs/differences.md). */
const IS_SILENT = process.versions.node.startsWith('20.')

export function toModelPlan(seed: number, engine: EngineName, model: ModelName): ModelPlan {
  const random = new Random(seed)
  const count = random.pick([1, 2, 3, 3, 5, 5, 10, 10, 20, 50])
  const server = toServer(random, model)
  const isOfNode = engine === 'node'
  const options = { ...toLimits(random, model), ...toOptions(random) }
  const head = {
    kind: random.pick(['client', 'client', 'pool'] as const),
    transport: isOfNode || random.below(10) === 0 ? ('socket' as const) : ('duplex' as const),
    takes: random.pick(['at once', 'at once', 'in a tick', 'in a turn', 'slowly'] as const),
  }
  const calls = Array.from({ length: count }, () =>
    toCall(random, server, count, options.initialWindowSize ?? WINDOW),
  )
  // nghttp2 sends uploads by turns: a connection window that they fill may leave few threads with parts of bodies
  // (docs/differences.md).
  const mayStandStill = isOfNode && calls.reduce((sum, { upload }) => sum + upload.size, 0) > WINDOW
  return {
    seed,
    engine,
    model,
    ...head,
    options: { engine, ...options },
    calls,
    server: mayStandStill ? { ...server, threads: MANY } : server,
    quietTurns: random.pick([4, 4, 4, 2, 8]),
  }
}

/** With a legal server no limit is ever met: each that is, is a failure. */
function toLimits(random: Random, model: ModelName): PoolOptions {
  const pingInterval = random.pick([undefined, 0, 50, 1_000])
  if (model === 'legal') {
    const wait = 3_000_000
    const waits = { queueTimeout: wait, headersTimeout: wait, bodyTimeout: wait, uploadTimeout: wait }
    return { connectTimeout: 60_000, ...waits, pingInterval, pingTimeout: 60_000 }
  }
  const wait = 3_000
  return {
    ...{
      connectTimeout: wait,
      queueTimeout: 4 * wait,
      headersTimeout: wait,
      bodyTimeout: wait,
      uploadTimeout: wait,
    },
    ...{ pingInterval: IS_SILENT ? 1_000 : pingInterval, pingTimeout: 1_000 },
  }
}

function toOptions(random: Random): PoolOptions {
  const rarely = <T>(value: T): T | undefined => (random.below(6) === 0 ? value : undefined)
  return {
    initialWindowSize: rarely(random.pick([100, 1_000, 65_535, 100_000])),
    connectionWindowSize: rarely(random.pick([65_535, 70_000, 1_000_000])),
    maxSessionBuffer: rarely(random.pick([65_535, 200_000])),
    maxConcurrentStreams: rarely(random.pick([1, 2, 5])),
    h2Options: rarely({ settings: { headerTableSize: random.pick([0, 100, 4_096, 20_000]) } }),
  }
}

function toServer(random: Random, model: ModelName): ModelServerPlan {
  const credit = random.pick(['as read', 'as it comes'] as const)
  const toSettings = (): ModelSettings => ({
    // A server whose threads share the connection's window gives each stream no less: whoever cut the others short could block it.
    window:
      credit === 'as read'
        ? random.pick([WINDOW, 100_000, 1_000_000])
        : random.pick([10, 1_000, 16_384, WINDOW, 1_000_000]),
    streams: random.pick([1, 2, 5, 100, 100]),
    frameSize: random.pick([16_384, 16_384, 20_000, 1_000_000]),
    tableSize: random.pick([4_096, 4_096, 0, 100, 65_536]),
  })
  const changes = Array.from({ length: random.pick([0, 0, 1, 3]) }, () => ({
    at: random.below(60),
    settings: toSettings(),
  }))
  return {
    threads: random.pick([1, 1, 2, 3, 16, 1_000]),
    credit,
    collectsCredit: random.below(2) === 0,
    readPiece: random.pick([100, 1_000, 8_192, 100_000]),
    readGap: random.pick([0, 0, 0, 1]),
    first: toSettings(),
    changes: changes.sort((one, other) => one.at - other.at),
    refuses: random.pick([0, 0, 5, 30]),
    retiresAfter: random.pick([0, 0, 0, 2, 10]),
    retiresInTwoSteps: random.below(2) === 0,
    pings: random.pick([0, 0, 1, 5]),
    isNoisy: random.below(3) === 0,
    cut: random.pick(['whole', 'whole', 'parts', 'bytes']),
    settingsDelay: random.pick([0, 0, 0, 20]),
    violation:
      model === 'legal'
        ? null
        : { name: random.pick(VIOLATIONS), after: random.below(random.pick([3, 10, 40, 150])) },
  }
}

function toFields(random: Random): ModelFields {
  const count = random.pick([0, 1, 3, 8])
  const entries = Array.from({ length: count }, () => {
    const value =
      random.below(4) === 0
        ? random.text(random.below(30), 'abcdef0123')
        : random.pick(VALUES as [string, ...string[]])
    return [`x-field-${random.below(NAMES)}`, value]
  })
  return Object.fromEntries(entries)
}

/** @param window the client's for a stream */
function toCall(random: Random, server: ModelServerPlan, count: number, window: number): ModelCall {
  const most = Math.floor(MOST / count)
  const size = (): number =>
    Math.min(most, random.pick([0, 1, 100, 5_000, 16_384, 30_000, 65_535, 70_000, 200_000]))
  const method = random.pick(['GET', 'GET', 'HEAD', 'POST', 'POST', 'POST', 'PUT'] as const)
  const hasBody = method === 'POST' || method === 'PUT'
  // A source that has nothing to send just now lets others fill the window that its thread waits for: no client could help that.
  const kinds =
    server.credit === 'as read' ? (['bytes', 'none'] as const) : (['bytes', 'generator', 'none'] as const)
  const kind = hasBody ? random.pick(kinds) : 'none'
  const smallest = Math.min(
    server.first.window,
    ...server.changes.map(({ settings }) => settings.window),
    server.readPiece,
  )
  const upload = kind === 'none' ? 0 : Math.min(size(), smallest * MOST_FRAMES)
  const isEmpty = method === 'HEAD' || random.below(12) === 0
  const response = isEmpty ? 0 : Math.min(size(), window * MOST_FRAMES)
  const piece = Math.max(random.pick([1, 100, 5_000, 16_384, 16_384]), Math.ceil(response / MOST_FRAMES))
  return {
    method,
    at: random.below(3) === 0 ? random.below(40) : 0,
    fields: toFields(random),
    upload: {
      ...{ kind, size: upload, gap: random.pick([0, 0, 1]) },
      piece: Math.max(random.pick([100, 8_000, 100_000]), Math.ceil(upload / MOST_FRAMES)),
    },
    reader: random.pick(['at once', 'at once', 'slow']),
    abortsAt: random.below(15) === 0 ? random.below(40) : null,
    response: {
      status: isEmpty && method !== 'HEAD' ? random.pick([204, 304]) : random.pick([200, 200, 404, 500]),
      fields: toFields(random),
      ...{ size: response, piece, gap: count <= 5 ? random.pick([0, 0, 1]) : 0 },
      hasLength: !isEmpty && random.below(2) === 0,
      informational: random.pick([0, 0, 0, 1, 3]),
      trailers: !isEmpty && random.below(4) === 0 ? { ...toFields(random), 'x-trailer': 'yes' } : null,
      isPadded: random.below(6) === 0,
      isEarly: kind !== 'none' && random.below(6) === 0,
      resetCode: random.below(25) === 0 ? random.pick([2, 8, 11]) : null,
    },
  }
}

/** The octets of a body: other ones in each call and direction. */
export function toModelBody(size: number, start: number): Buffer {
  const bytes = Buffer.allocUnsafe(size)
  for (let at = 0; at < size; at++) bytes[at] = (at * 7 + (at >> 8) + start) & 255
  return bytes
}

/** A plan, short enough to be read beside a failure. */
export function describeModelPlan({ options, server, calls, ...rest }: ModelPlan): string {
  const shorten = (_key: string, value: unknown): unknown =>
    typeof value === 'string' && value.length > 40 ? `${value.slice(0, 4)}… (${value.length})` : value
  const show = (value: unknown): string => JSON.stringify(value, shorten)
  return [
    show(rest),
    `options ${show(options)}`,
    `server ${show(server)}`,
    ...calls.map((call, index) => `call ${index}: ${show(call)}`),
  ].join('\n')
}
