/** A connection of node:http2 whose header blocks are decoded by us as well: both see the same octets. */

import { once } from 'node:events'
import type { ClientHttp2Session } from 'node:http2'
import { connect } from 'node:http2'
import type { AddressInfo, Socket } from 'node:net'
import { createServer } from 'node:net'
import type { Duplex } from 'node:stream'
import { onTestFinished } from 'vitest'
import { HpackDecoder } from '../../../src/protocol/hpack/decoder.ts'
import type { Frame } from '../../../src/testing/frames.ts'
import { Flag, FrameParser, Type, toContent } from '../../../src/testing/frames.ts'

/** Finds the header blocks in what a server sends (RFC 9113 §6.2 and §6.10). */
class BlockSplitter {
  readonly #onBlock: (streamId: number, block: Buffer) => void
  readonly #parser = new FrameParser((frame) => this.#take(frame), 'server')
  #fragments: Buffer[] = []

  constructor(onBlock: (streamId: number, block: Buffer) => void) {
    this.#onBlock = onBlock
  }

  push(chunk: Buffer): void {
    this.#parser.push(chunk)
  }

  #take(frame: Frame): void {
    if (frame.type !== Type.HEADERS && frame.type !== Type.CONTINUATION) return
    this.#fragments.push(toContent(frame))
    if ((frame.flags & Flag.END_HEADERS) === 0) return
    this.#onBlock(frame.streamId, Buffer.concat(this.#fragments))
    this.#fragments = []
  }
}

/** What both have made of the blocks of a connection. */
export interface Comparison {
  /** Lists that both have decoded, and that are the same. */
  readonly same: number
  /** The first few that aren't, or that only one has: ours, and those of node:http2. */
  readonly different: readonly { readonly ours: unknown; readonly theirs: unknown }[]
}

/** A session of node:http2 with a relay between it and the server. */
export class TappedConnection {
  readonly #session: ClientHttp2Session
  /** By stream, in the order of the wire. */
  readonly #ours = new Map<number, string[][]>()
  #same = 0
  readonly #different: { ours: unknown; theirs: unknown }[] = []

  /**
   * @param toServer opens a connection to the server, in the clear or over TLS
   * @param tableSize the SETTINGS_HEADER_TABLE_SIZE that node:http2 announces, in bytes
   */
  static async open(toServer: () => Duplex, tableSize: number): Promise<TappedConnection> {
    // In force from the first block on: the server has had the SETTINGS before any request.
    const decoder = new HpackDecoder(Math.max(tableSize, 4_096), Number.MAX_SAFE_INTEGER)
    if (tableSize < 4_096) decoder.setTableSize(tableSize)
    const ours = new Map<number, string[][]>()
    const splitter = new BlockSplitter((streamId, block) => {
      const list = decoder.decode(block, 0, block.length)
      const lists = ours.get(streamId)
      if (lists === undefined) ours.set(streamId, [list])
      else lists.push(list)
    })
    const port = await startRelay(toServer, splitter)
    const session = connect(`http://127.0.0.1:${port}`, { settings: { headerTableSize: tableSize } })
    onTestFinished(() => session.destroy())
    return new TappedConnection(session, ours)
  }

  private constructor(session: ClientHttp2Session, ours: Map<number, string[][]>) {
    this.#session = session
    this.#ours = ours
  }

  /** One request after another, a few at a time. */
  async request(paths: readonly string[], atOnce: number): Promise<Comparison> {
    const rest = paths.values()
    const work = async (): Promise<void> => {
      for (const path of rest) await this.#requestOne(path)
    }
    await Promise.all(Array.from({ length: atOnce }, work))
    for (const [, ours] of this.#ours) this.#different.push({ ours, theirs: undefined })
    return { same: this.#same, different: this.#different.slice(0, 3) }
  }

  async #requestOne(path: string): Promise<void> {
    const theirs: string[][] = []
    const add = (_headers: unknown, _flags: number, raw: string[]): void => {
      theirs.push([...raw])
    }
    const stream = this.#session.request({ ':path': path })
    stream.on('headers', add).on('response', add).on('trailers', add).resume()
    await once(stream, 'close')
    const id = stream.id ?? 0
    const ours = this.#ours.get(id) ?? []
    this.#ours.delete(id)
    if (JSON.stringify(ours) === JSON.stringify(theirs)) this.#same += theirs.length
    else this.#different.push({ ours, theirs })
  }
}

/** Lets the splitter see all that the server sends. @returns the relay's port */
async function startRelay(toServer: () => Duplex, splitter: BlockSplitter): Promise<number> {
  const relay = createServer((client: Socket) => {
    const server = toServer()
    server.on('data', (chunk: Buffer) => {
      splitter.push(chunk)
      client.write(chunk)
    })
    client.on('data', (chunk: Buffer) => server.write(chunk))
    for (const [from, to] of [
      [client, server],
      [server, client],
    ] as const) {
      // The test has what it wanted by then; if not, its streams fail.
      from.on('error', () => to.destroy()).on('close', () => to.destroy())
    }
  })
  relay.listen(0, '127.0.0.1')
  await once(relay, 'listening')
  onTestFinished(() => {
    relay.close()
  })
  const { port } = relay.address() as AddressInfo
  return port
}
