/** Responses, the breaks that follow them at once, and the ending that a reader must report. */

import type { FaultConnection } from '../../../src/testing/fault-connection.ts'
import { Flag, frames, Type } from '../../../src/testing/frames.ts'
import type { Field } from '../../../src/testing/hpack.ts'
import { CANCEL, INTERNAL_ERROR, NO_ERROR, REFUSED_STREAM } from '../../support/peers/error-codes.ts'

/** A reader reports the response's end, or an error. */
export type Ending = 'end' | 'error'

/** What a peer sends first. */
export interface Response {
  readonly name: string
  /** The content that a reader gets. */
  readonly text: string
  /** Whether it has ended, by END_STREAM; or has as many bytes as its `content-length`. */
  readonly completion: 'END_STREAM' | 'content-length' | 'none'
  toBytes(streamId: number): Buffer[]
}

/** What a peer does then. */
export interface Break {
  readonly name: string
  toBytes(streamId: number): Buffer[]
  /** Breaks the connection after these bytes. */
  readonly connection?: 'FIN' | 'reset'
  /** The ending of a response that hasn't ended. */
  readonly ending: Ending
}

const STATUS: Field = [':status', '200']
const TEXT = 'part'
const LAST_ID = 2 ** 31 - 1
const CONNECTION = 0

export const RESPONSES: readonly Response[] = [
  {
    name: 'a header section',
    text: '',
    completion: 'none',
    toBytes: (id) => [frames.headers(id, [STATUS])],
  },
  {
    name: 'some content',
    text: TEXT,
    completion: 'none',
    toBytes: (id) => [frames.headers(id, [STATUS]), frames.data(id, TEXT)],
  },
  {
    name: 'all of its content-length',
    text: TEXT,
    completion: 'content-length',
    toBytes: (id) => [
      frames.headers(id, [STATUS, ['content-length', String(TEXT.length)]]),
      frames.data(id, TEXT),
    ],
  },
  {
    name: 'END_STREAM with its header section',
    text: '',
    completion: 'END_STREAM',
    toBytes: (id) => [frames.headers(id, [STATUS], Flag.END_STREAM)],
  },
  {
    name: 'END_STREAM with its content',
    text: TEXT,
    completion: 'END_STREAM',
    toBytes: (id) => [frames.headers(id, [STATUS]), frames.data(id, TEXT, Flag.END_STREAM)],
  },
  {
    name: 'END_STREAM with its trailer section',
    text: TEXT,
    completion: 'END_STREAM',
    toBytes: (id) => [
      frames.headers(id, [STATUS]),
      frames.data(id, TEXT),
      frames.headers(id, [['x-end', '1']], Flag.END_STREAM),
    ],
  },
]

/** Responses with which a tunnel can begin: it has no trailers (RFC 9113 §8.5). */
export const TUNNEL_RESPONSES = RESPONSES.filter(({ name }) => !name.includes('trailer'))

function toReset(name: string, code: number): Break {
  return { name: `RST_STREAM with ${name}`, toBytes: (id) => [frames.reset(id, code)], ending: 'error' }
}

export const BREAKS: readonly Break[] = [
  {
    name: 'END_STREAM',
    toBytes: (id) => [frames.data(id, '', Flag.END_STREAM)],
    ending: 'end',
  },
  toReset('NO_ERROR', NO_ERROR),
  toReset('CANCEL', CANCEL),
  toReset('INTERNAL_ERROR', INTERNAL_ERROR),
  toReset('REFUSED_STREAM', REFUSED_STREAM),
  {
    name: 'a window beyond 2^31-1',
    toBytes: () => [frames.windowUpdate(CONNECTION, LAST_ID)],
    ending: 'error',
  },
  {
    name: 'DATA on stream 0',
    toBytes: () => [frames.frame(Type.DATA, 0, CONNECTION, Buffer.from('x'))],
    ending: 'error',
  },
  {
    name: 'GOAWAY with NO_ERROR, and END_STREAM',
    toBytes: (id) => [frames.goAway(id, NO_ERROR), frames.data(id, '', Flag.END_STREAM)],
    ending: 'end',
  },
  {
    name: 'GOAWAY with INTERNAL_ERROR, and FIN',
    toBytes: (id) => [frames.goAway(id, INTERNAL_ERROR)],
    connection: 'FIN',
    ending: 'error',
  },
  { name: 'FIN', toBytes: () => [], connection: 'FIN', ending: 'error' },
  { name: 'a TCP reset', toBytes: () => [], connection: 'reset', ending: 'error' },
]

/** HEADERS within a tunnel: a stream error (RFC 9113 §8.5). */
export const TUNNEL_BREAKS: readonly Break[] = [
  ...BREAKS,
  {
    name: 'HEADERS with END_STREAM',
    toBytes: (id) => [frames.headers(id, [['x-end', '1']], Flag.END_STREAM)],
    ending: 'error',
  },
]

/** Whether a stream may go on after the response: nothing can follow its END_STREAM. */
export function canFollow(response: Response, { name }: Break): boolean {
  return response.completion !== 'END_STREAM' || !/END_STREAM/.test(name)
}

const [major = 0] = process.versions.node.split('.').map(Number)

/** Node 20 doesn't report most connection errors (docs/differences.md): only a PING notices them. */
export function isSilent(engine: string, { name }: Break): boolean {
  return engine === 'node' && major < 22 && name === 'DATA on stream 0'
}

/** The ending that a reader of a response must report. */
export function toEnding(response: Response, broken: Break): Ending {
  if (response.completion === 'END_STREAM') return 'end'
  // RFC 9113 §8.1: a server may need no more of a request. The response is whole by its own length.
  if (response.completion === 'content-length' && broken.name === 'RST_STREAM with NO_ERROR') return 'end'
  return broken.ending
}

/** Breaks the connection itself, behind what was written. */
export function breakConnection(connection: FaultConnection, { connection: how }: Break): void {
  if (how === 'FIN') connection.end()
  else if (how === 'reset') connection.break()
}
