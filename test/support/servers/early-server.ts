/** Servers that end a call before, within and after its upload, in each way that a server can. */

import { createServer } from 'node:net'
import type { FaultConnection } from '../../../src/testing/fault-connection.ts'
import type { FaultStream } from '../../../src/testing/fault-stream.ts'
import type { PoolOptions } from '../../../types/index.ts'
import { startPeer } from '../peers/peer-rig.ts'
import { listen } from './listen.ts'

/** When the server acts: as soon as the header section has come, in the middle of the body, or behind all of it. */
export const MOMENTS = ['before', 'within', 'after'] as const

export type Moment = (typeof MOMENTS)[number]

/** What the server has read then. Bytes. */
const WITHIN = 50_000

export const TEXT = 'too large'

/** What a server does, and what becomes of the call. */
export interface Ending {
  readonly name: string
  /** Whether the whole response comes. */
  readonly isResponse: boolean
}

function ending(name: string, isResponse: boolean): Ending {
  return { name, isResponse }
}

export const HTTP2_ENDINGS: readonly Ending[] = [
  ending('END_STREAM', true),
  ending('END_STREAM and RST_STREAM(NO_ERROR)', true),
  ending('the whole length and RST_STREAM(NO_ERROR)', true),
  ending('END_STREAM and GOAWAY', true),
  ending('END_STREAM and the end of the connection', true),
  ending('RST_STREAM(CANCEL) within the response', false),
  ending('RST_STREAM(CANCEL) without a response', false),
  ending('RST_STREAM(NO_ERROR) without a response', false),
  ending('GOAWAY and a lost connection without a response', false),
  ending('a lost connection within the response', false),
  ending('a lost connection without a response', false),
]

export const HTTP1_ENDINGS: readonly Ending[] = [
  ending('the whole length', true),
  ending('the whole length and the end of the connection', true),
  ending('a lost connection within the response', false),
  ending('a lost connection without a response', false),
]

/** The path of a request names what the server does. */
export function toPath(moment: Moment, { name }: Ending): string {
  return `/${moment}/${encodeURIComponent(name)}`
}

function toPlan(path: string): { moment: string; name: string } {
  const [, moment = '', name = ''] = path.split('/')
  return { moment, name: decodeURIComponent(name) }
}

function isDue(moment: string, length: number, isWhole: boolean): boolean {
  if (moment === 'before') return true
  return moment === 'within' ? length >= WITHIN : isWhole
}

function endStream(stream: FaultStream, connection: FaultConnection): void {
  if (stream.hasBegun) return
  const { moment, name } = toPlan(stream.path)
  if (!isDue(moment, stream.length, stream.isComplete)) return
  connection.inOneSegment(() => {
    if (!name.endsWith('without a response')) stream.head(413, { 'content-length': TEXT.length })
    if (name.startsWith('END_STREAM')) void stream.end(TEXT)
    if (name.startsWith('the whole length')) void stream.data(TEXT)
    if (name.endsWith('within the response')) void stream.data(TEXT.slice(1))
    if (name.endsWith('(NO_ERROR)') || name.startsWith('RST_STREAM(NO_ERROR)')) stream.reset('NO_ERROR')
    if (name.startsWith('RST_STREAM(CANCEL)')) stream.reset('CANCEL')
    if (name.includes('GOAWAY')) connection.goAway({ lastStreamId: stream.id })
  })
  if (name.endsWith('the end of the connection')) connection.end()
  if (name.includes('a lost connection')) connection.break()
}

/** Speaks HTTP/2 without TLS. @returns its origin */
export async function startEarlyHttp2(): Promise<string> {
  const peer = await startPeer({
    onRequest: endStream,
    onData: endStream,
    onComplete: endStream,
  })
  return peer.origin
}

/** Speaks HTTP/1.1, a request on each connection. @returns its origin */
export async function startEarlyHttp1(): Promise<string> {
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    const chunks: Buffer[] = []
    let isOver = false
    socket.on('data', (chunk: Buffer) => {
      if (isOver) return
      chunks.push(chunk)
      const said = Buffer.concat(chunks).toString('latin1')
      const end = said.indexOf('\r\n\r\n')
      if (end < 0) return
      const { moment, name } = toPlan(said.slice(0, end).split(' ')[1] ?? '')
      const isWhole = said.endsWith('0\r\n\r\n') || isWholeLength(said, end)
      if (!isDue(moment, said.length - end, isWhole)) return
      isOver = true
      const isPart = name.endsWith('within the response')
      const isClosing = name.endsWith('the end of the connection')
      if (!name.endsWith('without a response')) {
        const fields = `content-length: ${TEXT.length}\r\nconnection: ${isClosing ? 'close' : 'keep-alive'}`
        const body = isPart ? TEXT.slice(1) : TEXT
        socket.write(`HTTP/1.1 413 Content Too Large\r\n${fields}\r\n\r\n${body}`)
      }
      if (isClosing) socket.end()
      if (name.startsWith('a lost connection')) socket.destroySoon()
    })
    socket.on('end', () => socket.end())
  })
  const { port } = await listen(server)
  return `http://127.0.0.1:${port}`
}

function isWholeLength(said: string, end: number): boolean {
  const length = /\r\ncontent-length: (\d+)/i.exec(said.slice(0, end))?.[1]
  return length !== undefined && said.length - end - 4 >= Number(length)
}

/** A way to such a server: what it speaks, and which options lead there. */
export interface EarlyRoute {
  readonly name: string
  readonly options: PoolOptions
  readonly endings: readonly Ending[]
  /** @returns the server's origin */
  start(): Promise<string>
}

export const EARLY_ROUTES: readonly EarlyRoute[] = [
  {
    name: 'engine node',
    options: { engine: 'node', h2c: true },
    endings: HTTP2_ENDINGS,
    start: startEarlyHttp2,
  },
  {
    name: 'engine wire',
    options: { engine: 'wire', h2c: true },
    endings: HTTP2_ENDINGS,
    start: startEarlyHttp2,
  },
  { name: 'the fallback', options: { allowH2: false }, endings: HTTP1_ENDINGS, start: startEarlyHttp1 },
]
