import { Readable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { Client, fetch } from '../../src/index.ts'
import { frames } from '../../src/testing/frames.ts'
import type { ReadableStreamLike } from '../../types/index.ts'
import { destroyWithTest } from '../support/clients/agents.ts'
import { ENGINES } from '../support/clients/engines.ts'
import { startPeer } from '../support/peers/peer-rig.ts'
import { toTlsPeer } from '../support/peers/peer-tls.ts'

/** Uploads that follow one another on one connection: the first on a cold one goes otherwise. */
const ROUNDS = 20
const PIECE = 65_536
const PIECES = 320
/** The server's windows: the client is still reading its source when the response comes. Bytes. */
const WINDOW = 16_777_216
/** What the server reads before it responds. Bytes. */
const ENOUGH = 50_000
const TEXT = 'too large'

function* toPieces(): Generator<Buffer> {
  for (let count = 0; count < PIECES; count++) yield Buffer.alloc(PIECE)
}

async function* toPiecesLater(): AsyncGenerator<Buffer> {
  yield* toPieces()
}

const SOURCES: Record<string, () => Generator<Buffer> | AsyncGenerator<Buffer>> = {
  'a generator': toPieces,
  'an async generator': toPiecesLater,
}

/** How a caller sends a web stream, and gets the text of the response. */
const WAYS: Record<string, (client: Client, origin: string, body: ReadableStreamLike) => Promise<string>> = {
  async 'request()'(client, _origin, body) {
    const response = await client.request({ path: '/', method: 'POST', body })
    return `${response.statusCode} ${await response.body.text()}`
  },
  async 'fetch()'(client, origin, body) {
    const init = { method: 'POST', body, duplex: 'half', dispatcher: client } as const
    const response = await fetch(`${origin}/`, init)
    return `${response.status} ${await response.text()}`
  },
  async 'fetch() of a Request'(client, origin, body) {
    const init: RequestInit & { duplex: 'half' } = {
      method: 'POST',
      body: body as ReadableStream,
      duplex: 'half',
    }
    const response = await fetch(new Request(`${origin}/`, init), { dispatcher: client })
    return `${response.status} ${await response.text()}`
  },
}

/** Responds to an upload of which it has read a part, and wants no more of it. */
async function startStrict(): Promise<{ origin: string; ca: string }> {
  const { options, ca } = await toTlsPeer()
  const peer = await startPeer(
    {
      settings: { initialWindowSize: WINDOW },
      onConnection: (connection) => connection.write(frames.windowUpdate(0, WINDOW)),
      onData(stream, connection) {
        if (stream.length < ENOUGH || !stream.isOpen) return
        connection.inOneSegment(() => {
          stream.head(413, { 'content-length': TEXT.length })
          void stream.end(TEXT)
          stream.reset('NO_ERROR')
        })
      },
    },
    options,
  )
  return { origin: peer.origin, ca }
}

// An uncaught exception, which node's web streams are good for, would end the run.
describe.each(ENGINES)('an early response to an upload, on engine %s', (engine) => {
  describe.each(Object.keys(WAYS))('by %s', (way) => {
    it.each(
      Object.keys(SOURCES),
    )("of one of node's web streams, made of %s › is the outcome, and nothing is uncaught", async (kind) => {
      const { origin, ca } = await startStrict()
      const client = destroyWithTest(new Client(origin, { engine, connect: { ca } }))
      for (let round = 0; round < ROUNDS; round++) {
        const body = Readable.toWeb(Readable.from(SOURCES[kind]?.() ?? [], { objectMode: false }))
        expect(await WAYS[way]?.(client, origin, body as ReadableStreamLike)).toBe(`413 ${TEXT}`)
      }
    })
  })
})
