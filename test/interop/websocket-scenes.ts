/** Scenes of a client and their expected outcome, whatever protocol its socket uses. */

import { channel } from 'node:diagnostics_channel'
import type { Agent } from '../../src/index.ts'
import type { CloseFacts, Message, SocketClass, SocketOptions } from './websocket-talk.ts'
import { Talk } from './websocket-talk.ts'

/** Who opens sockets, and where. */
export interface Stage {
  readonly url: string
  readonly socketClass: SocketClass
  readonly agent: Agent
  /** Whether the sockets find the agent by `install()`. */
  readonly isInstalled: boolean
}

export interface Scene {
  readonly what: string
  /** Facts that are the same for all. They must survive JSON. */
  readonly expected: unknown
  play(stage: Stage): Promise<unknown>
}

/** Autobahn's cases 1.1 and 1.2 and 9.1: around each change of a frame's length field. */
export const SIZES = [0, 1, 125, 126, 127, 128, 65_535, 65_536, 1_048_576] as const

/** Autobahn's cases 6: two, three and four bytes, and those that no escape may touch. */
const TEXTS = [
  'Hello-µ@ßöäüàá-UTF-8!!',
  'κόσμε',
  '𐀀 👩‍👩‍👧‍👦 𝄞',
  '\u0000\uffff\u{10ffff}',
  '€'.repeat(30_000),
]

const MESSAGES = 1_000
/** Bytes of the many messages: as many as there are, in turn. */
const TURNS = [1, 126, 4_000, 70_000] as const
const PIECE = 1_048_576
const PIECES = 24

function open({ url, socketClass, agent, isInstalled }: Stage, path: string, protocols?: string[]): Talk {
  const options: SocketOptions = {
    ...(isInstalled ? {} : { dispatcher: agent }),
    ...(protocols === undefined ? {} : { protocols }),
  }
  return new Talk(socketClass, `${url}${path}`, options)
}

async function start(stage: Stage, path: string, protocols?: string[]): Promise<Talk> {
  const talk = open(stage, path, protocols)
  await talk.opened
  return talk
}

async function finish(talk: Talk): Promise<CloseFacts> {
  talk.socket.close(1000)
  return talk.closed
}

/** The lengths of those that came back as they were sent. */
async function echoAll(talk: Talk, messages: readonly Message[]): Promise<number[]> {
  const same: number[] = []
  for (const message of messages) {
    const response = await talk.echo(message)
    const isSame =
      typeof message === 'string'
        ? response === message
        : response instanceof Buffer && message.equals(response)
    if (isSame) same.push(message.length)
  }
  await finish(talk)
  return same
}

function toBytes(size: number): Buffer {
  return Buffer.from(Uint8Array.from({ length: size }, (_, i) => (i * 31 + size) % 256))
}

function toText(size: number): string {
  return 'abcdefghijklmnopqrstuvwxyz-*'.repeat(Math.ceil(size / 28)).slice(0, size)
}

/** How a handshake ends that can't succeed. */
export async function refuse(stage: Stage, path: string, protocols?: string[]): Promise<unknown> {
  const talk = open(stage, path, protocols)
  const opened = await talk.opened.then(
    () => true,
    () => false,
  )
  return { opened, first: talk.events[0] }
}

export const REFUSED = { opened: false, first: 'error' }

const MIXED = Array.from({ length: MESSAGES }, (_, i) => toText(TURNS[i % TURNS.length] ?? 0))

function toCloseScene(code: number, reason: string): Scene {
  return {
    what: `closes with ${code} and '${reason}'`,
    expected: { code, reason, wasClean: true },
    async play(stage) {
      const talk = await start(stage, '/echo')
      talk.socket.close(code, reason)
      return talk.closed
    },
  }
}

function toServerCloseScene(code: number, reason: string): Scene {
  return {
    what: `is closed by the server with ${code} and '${reason}'`,
    expected: { code, reason, wasClean: true },
    async play(stage) {
      const talk = await start(stage, `/close?code=${code}&reason=${encodeURIComponent(reason)}`)
      talk.socket.send('close')
      return talk.closed
    },
  }
}

function toLossScene(what: string, path: string): Scene {
  return {
    what,
    expected: { code: 1006, wasClean: false },
    async play(stage) {
      const talk = await start(stage, path)
      talk.socket.send('go')
      const { code, wasClean } = await talk.closed
      return { code, wasClean }
    },
  }
}

function toEchoScene(what: string, path: string, messages: readonly Message[]): Scene {
  return {
    what,
    expected: messages.map(({ length }) => length),
    play: async (stage) => echoAll(await start(stage, path), messages),
  }
}

const BINARY = SIZES.map(toBytes)
const TEXT = SIZES.map(toText)

export const PING_LENGTHS = [0, 1, 64, 125] as const

export const ECHO_SCENES: readonly Scene[] = [
  toEchoScene('echoes text of every length', '/echo', TEXT),
  toEchoScene('echoes bytes of every length', '/echo', BINARY),
  toEchoScene('echoes text of several bytes a character', '/echo', TEXTS),
  ...[1, 125, 4_096].map((size) =>
    toEchoScene(
      `puts fragments of ${size} bytes together, with pings in between`,
      `/fragments?size=${size}`,
      [toText(300), toBytes(300), '€uro '.repeat(50), ...(size === 1 ? [] : [toBytes(9_000)])],
    ),
  ),
  {
    what: 'responses pings of each length',
    expected: 'done',
    async play(stage) {
      const talk = await start(stage, '/pings')
      const message = await talk.next()
      await finish(talk)
      return message
    },
  },
  {
    what: 'sends many messages at once, which come back in order',
    expected: true,
    async play(stage) {
      const talk = await start(stage, '/echo')
      for (const message of MIXED) talk.socket.send(message)
      let isSame = true
      for (const message of MIXED) isSame = (await talk.next()) === message && isSame
      await finish(talk)
      return isSame
    },
  },
  {
    what: 'gets many messages that come at once, in order',
    expected: { inOrder: true, size: 16_384 },
    async play(stage) {
      const talk = await start(stage, `/flood?count=${MESSAGES}&size=16384`)
      let inOrder = true
      let size = 0
      for (let i = 0; i < MESSAGES; i++) {
        const message = await talk.next()
        inOrder = inOrder && message.toString().startsWith(`${i}.`)
        size = message.length
      }
      await finish(talk)
      return { inOrder, size }
    },
  },
  {
    what: 'holds back what a server does not read, and sends it later',
    expected: { heldBack: true, bytes: String(PIECE * PIECES), left: 0 },
    async play(stage) {
      const talk = await start(stage, '/stuck')
      const piece = Buffer.alloc(PIECE, 1)
      for (let i = 0; i < PIECES; i++) talk.socket.send(piece)
      const release = await start(stage, '/echo')
      await release.echo('the server has turned')
      const heldBack = talk.socket.bufferedAmount > PIECE
      const free = await start(stage, '/release')
      const bytes = await talk.echo('how many?')
      const left = talk.socket.bufferedAmount
      await Promise.all([finish(talk), finish(release), finish(free)])
      return { heldBack, bytes, left }
    },
  },
]

export const CLOSE_SCENES: readonly Scene[] = [
  toCloseScene(1000, ''),
  toCloseScene(3000, 'by and by'),
  toCloseScene(4999, 'schön für alle 👋'),
  toServerCloseScene(1000, ''),
  toServerCloseScene(3000, 'by and by'),
  toServerCloseScene(4999, 'schön für alle 👋'),
  toServerCloseScene(1011, 'r'.repeat(123)),
  toLossScene('hears of a reset as 1006', '/reset'),
  toLossScene('hears of an end without a close frame as 1006', '/end'),
]

/** Of sockets over HTTP/2 alone: undici's own dispatchers leave upgraded sockets of HTTP/1.1 to their callers, too. */
export const DESTROY_SCENE: Scene = {
  what: 'hears 1006 when its dispatcher is destroyed',
  expected: { code: 1006, wasClean: false },
  async play(stage) {
    const talk = await start(stage, '/echo')
    await talk.echo('here')
    await stage.agent.destroy()
    const { code, wasClean } = await talk.closed
    return { code, wasClean }
  },
}

export const HANDSHAKE_SCENES: readonly Scene[] = [
  {
    what: 'has the subprotocol that the server chose',
    expected: { protocol: 'second', response: 'x' },
    async play(stage) {
      const talk = await start(stage, '/echo', ['first', 'second'])
      const response = await talk.echo('x')
      await finish(talk)
      return { protocol: talk.socket.protocol, response }
    },
  },
  {
    what: 'fails when the server chooses none of its subprotocols',
    expected: REFUSED,
    play: (stage) => refuse(stage, '/echo', ['first', 'third']),
  },
  {
    what: 'fails when the server responds 403, and the next one succeeds',
    expected: { refused: REFUSED, response: 'x' },
    async play(stage) {
      const refused = await refuse(stage, '/deny')
      const talk = await start(stage, '/echo')
      const response = await talk.echo('x')
      await finish(talk)
      return { refused, response }
    },
  },
  {
    what: 'is told to subscribers of undici:websocket:open, with an address',
    expected: { published: 1, hasPort: true },
    async play(stage) {
      const ports: unknown[] = []
      const onOpen = (message: unknown): void => {
        ports.push(toPort(message))
      }
      const opened = channel('undici:websocket:open')
      opened.subscribe(onOpen)
      try {
        const talk = await start(stage, '/echo')
        await talk.echo('x')
        await finish(talk)
      } finally {
        opened.unsubscribe(onOpen)
      }
      return { published: ports.length, hasPort: typeof ports[0] === 'number' && ports[0] > 0 }
    },
  },
]

function toPort(message: unknown): unknown {
  if (typeof message !== 'object' || message === null || !('address' in message)) return null
  const { address } = message
  return typeof address === 'object' && address !== null && 'port' in address ? address.port : null
}

/** Over HTTP/2 alone: the server's frames come in DATA frames of this many bytes. */
export const CHOPPED_SCENES: readonly Scene[] = [1, 2, 7].map((size) =>
  toEchoScene(`reads what comes in pieces of ${size} bytes`, `/echo?chop=${size}`, [
    '€uro',
    toText(125),
    toText(126),
    toBytes(700),
  ]),
)

/** For servers that agree to permessage-deflate: text and bytes, compressed both ways. */
export const DEFLATE_SCENES: readonly Scene[] = [
  {
    what: 'agrees to permessage-deflate, and echoes',
    expected: { extension: 'permessage-deflate', same: [...SIZES, ...SIZES] },
    async play(stage) {
      const talk = await start(stage, '/echo')
      const extension = talk.socket.extensions.split(';')[0]
      return { extension, same: await echoAll(talk, [...TEXT, ...BINARY]) }
    },
  },
  toEchoScene('puts compressed fragments together', '/fragments?size=100', [toText(5_000), toBytes(5_000)]),
]

export const NO_DEFLATE_SCENE: Scene = {
  what: 'does without permessage-deflate',
  expected: '',
  async play(stage) {
    const talk = await start(stage, '/echo')
    await finish(talk)
    return talk.socket.extensions
  },
}

export const ALL_SCENES: readonly Scene[] = [
  ...ECHO_SCENES,
  ...CLOSE_SCENES,
  ...HANDSHAKE_SCENES,
  NO_DEFLATE_SCENE,
]

const CROWD = 100

/** So many sockets at once, each of which gets its own messages back. */
export const CROWD_SCENE: Scene = {
  what: `has ${CROWD} sockets open at once`,
  expected: { opened: CROWD, same: CROWD },
  async play(stage) {
    const talks = await Promise.all(Array.from({ length: CROWD }, async () => start(stage, '/echo')))
    const responses = await Promise.all(talks.map(async (talk, i) => (await talk.echo(`${i}`)) === `${i}`))
    await Promise.all(talks.map(finish))
    return { opened: talks.length, same: responses.filter(Boolean).length }
  },
}
