/**
 * What `dodici faults` does for each path. The families' names come from the tables in `dodici/testing`.
 *
 * @module
 */

import { ErrorCode } from '../../errors/error-codes.ts'
import type { FaultConnection, FaultStream, HeaderBomb } from '../../testing/index.ts'

/** The entry, which is loaded when the command runs. */
export type Testing = typeof import('../../testing/index.ts')

/** What to do about one request. */
export type Play = (stream: FaultStream, connection: FaultConnection) => unknown

/** One behaviour, or a family of them. */
export interface Behaviour {
  /** Such as `/stall`. A family's path ends with `/NAME` or `/CODE`. */
  readonly path: string
  /** What the server does. */
  readonly does: string
  /** What a correct client makes of it. */
  readonly rightClient: string
  /** `header`: as soon as the request's header section is there, before its body. @default 'whole' */
  readonly at?: 'header' | 'whole'
  /** Whether it needs TLS. @default false */
  readonly needsTls?: boolean
  /** Each of its paths: one, unless it is a family. */
  toRoutes(testing: Testing): ReadonlyMap<string, Play>
}

/** The description of a behaviour. */
type About = Omit<Behaviour, 'toRoutes'>

/** How many bytes a flood sends. */
const FLOOD_BYTES = 8_000_000

/** For a new kind, the compiler reports an error here. */
const BOMBS: Readonly<Record<HeaderBomb, true>> = {
  references: true,
  'many fields': true,
  'long field': true,
}

/** The beginning of a body whose end never comes. */
const PART = 'a part of the body, '

/** All behaviours, in the order of the list. */
export const BEHAVIOURS: readonly Behaviour[] = [
  one(
    {
      path: '/goaway',
      does: 'GOAWAY that names this request as the last one, then its response, then FIN.',
      rightClient: 'accepts the response and opens a new connection for the next request.',
    },
    (stream, connection) => {
      connection.goAway({ closes: 'when drained' })
      return stream.respond()
    },
  ),
  one(
    {
      path: '/goaway-unprocessed',
      does: 'Every second time, GOAWAY that excludes this request, then FIN; otherwise a 200.',
      rightClient: 'resends the request on a new connection and gets the 200.',
      at: 'header',
    },
    (stream, connection) => {
      if (!isOddTime(stream)) return stream.respond()
      return connection.goAway({ lastStreamId: Math.max(0, stream.id - 2), closes: 'when drained' })
    },
  ),
  family(
    {
      path: '/goaway/CODE',
      does: 'GOAWAY with this error code and FIN instead of the response.',
      rightClient: 'fails; it may resend a GET on a new connection.',
    },
    () => toKeys(ErrorCode),
    (code) => (_stream, connection) => connection.goAway({ code, closes: 'at once' }),
  ),
  one(
    {
      path: '/refused',
      does: 'Every second time, RST_STREAM with REFUSED_STREAM; otherwise a 200.',
      rightClient: 'resends the request, whatever its method, and gets the 200.',
      at: 'header',
    },
    (stream) => (isOddTime(stream) ? stream.refuse() : stream.respond()),
  ),
  family(
    {
      path: '/reset/CODE',
      does: 'RST_STREAM with this error code instead of the response.',
      rightClient: 'fails only this request and keeps the connection.',
    },
    () => toKeys(ErrorCode),
    (code) => (stream) => stream.reset(code),
  ),
  one(
    {
      path: '/reset-mid-body',
      does: 'Part of the body, then RST_STREAM with CANCEL.',
      rightClient: "fails: the response isn't complete.",
    },
    async (stream) => {
      await beginBody(stream)
      stream.reset('CANCEL')
    },
  ),
  one(
    {
      path: '/truncated',
      does: 'Part of the body, then FIN.',
      rightClient: "fails: the response isn't complete.",
    },
    async (stream, connection) => {
      await beginBody(stream)
      connection.end()
    },
  ),
  one(
    {
      path: '/short',
      does: 'A body shorter than its content-length.',
      rightClient: 'fails: the response is malformed (RFC 9113 §8.1.1).',
    },
    (stream) => stream.respond({ headers: { 'content-length': 10 }, body: 'short' }),
  ),
  one(
    {
      path: '/long',
      does: 'A body longer than its content-length.',
      rightClient: 'fails: the response is malformed (RFC 9113 §8.1.1).',
    },
    (stream) => stream.respond({ headers: { 'content-length': 1 }, body: 'long' }),
  ),
  one(
    {
      path: '/trickle',
      does: 'A body of 100 octets, ten per second, each in its own DATA frame.',
      rightClient: 'accepts the response, unless a time limit for the whole request ends it.',
    },
    (stream) => {
      stream.head(200)
      return stream.trickle('drop '.repeat(20), { bytesPerSecond: 10 })
    },
  ),
  one(
    {
      path: '/stall',
      does: 'Part of the body, then nothing more. PINGs are acknowledged.',
      rightClient: 'fails when its time limit for a body without progress has passed.',
    },
    beginBody,
  ),
  one(
    {
      path: '/no-response',
      does: 'Nothing. PINGs are acknowledged.',
      rightClient: 'fails when its time limit for a response has passed.',
    },
    () => {},
  ),
  one(
    {
      path: '/silent',
      does: 'The connection becomes a black hole: the server reads but sends nothing more.',
      rightClient: 'notices it through a PING or a time limit, and abandons the connection.',
    },
    (_stream, connection) => connection.fallSilent(),
  ),
  one(
    {
      path: '/unread',
      does: 'The server stops reading from the connection.',
      rightClient: 'notices it through a PING or a time limit, and abandons the connection.',
      at: 'header',
    },
    (_stream, connection) => connection.pauseReading(),
  ),
  one(
    {
      path: '/tcp-reset',
      does: 'The connection is reset (TCP RST).',
      rightClient: 'fails; it may resend a GET on a new connection.',
    },
    (_stream, connection) => connection.break(),
  ),
  one(
    {
      path: '/tls-alert',
      does: 'A fatal TLS alert, bad_record_mac.',
      rightClient: 'fails; it may resend a GET on a new connection.',
      needsTls: true,
    },
    (_stream, connection) => connection.alert(),
  ),
  one(
    {
      path: '/early-response',
      does: 'The response before the end of the request body, then RST_STREAM with NO_ERROR.',
      rightClient: 'stops its upload and accepts the response (RFC 9113 §8.1).',
      at: 'header',
    },
    async (stream) => {
      await stream.respond()
      stream.reset('NO_ERROR')
    },
  ),
  one(
    {
      path: '/each-byte',
      does: 'A correct response, in segments of one octet.',
      rightClient: 'accepts the response.',
    },
    (stream, connection) => connection.cutAt('each byte', () => void stream.respond()),
  ),
  one(
    {
      path: '/push',
      does: 'PUSH_PROMISE and the pushed response, but no response to the request itself.',
      rightClient: 'fails and ends the connection, if its SETTINGS forbid pushes (RFC 9113 §8.4).',
    },
    (stream) => stream.push('/pushed', 'pushed'),
  ),
  one(
    {
      path: '/garbage',
      does: "64 octets that aren't HTTP/2 frames.",
      rightClient: 'fails and ends the connection with a GOAWAY that has an error code.',
    },
    (_stream, connection) => connection.write(Buffer.alloc(64, 0xa5)),
  ),
  family(
    {
      path: '/bad-frame/NAME',
      does: 'A frame that RFC 9113 forbids. Most replace the response.',
      rightClient:
        'fails and ends the stream or the connection with an error code. It may accept a complete response.',
    },
    ({ BAD_FRAMES }) => toKeys(BAD_FRAMES),
    (name) => (_stream, connection) => connection.badFrame(name),
  ),
  family(
    {
      path: '/bad-headers/NAME',
      does: 'A header section that RFC 9113 §8 or RFC 7541 forbids.',
      rightClient: 'fails; if HPACK is wrong, it ends the connection with COMPRESSION_ERROR.',
    },
    ({ BAD_HEADERS }) => toKeys(BAD_HEADERS),
    (name) => (stream) => stream.badHeaders(name),
  ),
  family(
    {
      path: '/header-bomb/NAME',
      does: 'A header section that is large after decoding.',
      rightClient: 'fails at its limit, or accepts the response; its memory stays bounded.',
    },
    () => toKeys(BOMBS),
    (name) => (stream) => stream.headerBomb(name),
  ),
  family(
    {
      path: '/flood/NAME',
      does: `Useless frames, over and over, up to ${FLOOD_BYTES / 1e6} MB, then FIN.`,
      rightClient: 'fails at the FIN or earlier; its memory stays bounded.',
    },
    ({ FLOODS }) => toKeys(FLOODS),
    (name) => async (_stream, connection) => {
      await connection.flood(name, { bytes: FLOOD_BYTES })
      connection.end()
    },
  ),
]

function one(about: About, play: Play): Behaviour {
  return { ...about, toRoutes: () => new Map([[about.path, play]]) }
}

function family<Name extends string>(
  about: About,
  toNames: (testing: Testing) => readonly Name[],
  toPlay: (name: Name) => Play,
): Behaviour {
  const toRoutes = (testing: Testing): ReadonlyMap<string, Play> =>
    new Map(toNames(testing).map((name) => [toFamilyPath(about.path, name), toPlay(name)]))
  return { ...about, toRoutes }
}

/** `/reset/CANCEL`, `/bad-frame/data-on-stream-0`: error codes as in RFC 9113, everything else in lower case. */
function toFamilyPath(path: string, name: string): string {
  if (path.endsWith('/CODE')) return path.replace('CODE', name)
  const words = name.toLowerCase().match(/[a-z0-9]+/g) ?? []
  return path.replace('NAME', words.join('-'))
}

/** `Object.keys()` for a table that has these keys and no others. */
function toKeys<Name extends string>(table: Readonly<Record<Name, unknown>>): Name[] {
  return Object.keys(table) as Name[]
}

/** Whether it is the first, third … request with its method and path, including the query. */
function isOddTime({ count }: FaultStream): boolean {
  return count % 2 === 1
}

async function beginBody(stream: FaultStream): Promise<void> {
  stream.head(200)
  await stream.data(PART)
}
