/** A client by the frame, for tests of the fault server itself. */

import { once } from 'node:events'
import type { Socket } from 'node:net'
import { connect } from 'node:net'
import { onTestFinished } from 'vitest'
import type { Frame, SettingsEntry } from '../../../src/testing/frames.ts'
import {
  Flag,
  FrameParser,
  frames,
  PREFACE,
  Type,
  toContent,
  toTypeName,
} from '../../../src/testing/frames.ts'
import type { Field } from '../../../src/testing/hpack.ts'
import { HpackDecoder } from '../../../src/testing/hpack.ts'
import type { FaultServer, FaultServerOptions } from '../../../src/testing/index.ts'
import { createFaultServer } from '../../../src/testing/index.ts'

/** A server that ends with its test. Errors of scripts fail it. */
export async function start(options: FaultServerOptions = { h2c: true }): Promise<FaultServer> {
  const server = await createFaultServer(options)
  onTestFinished(() => server.close())
  return server
}

/** What a client has received, and what it says. */
export class RawClient {
  readonly socket: Socket
  readonly frames: Frame[] = []
  /** How many octets each read had. */
  readonly reads: number[] = []
  readonly #hpack = new HpackDecoder()
  readonly #headers = new Map<Frame, readonly Field[]>()
  #waiting: (() => void)[] = []

  private constructor(socket: Socket) {
    this.socket = socket
    const parser = new FrameParser((frame) => this.#take(frame), 'server')
    socket.on('data', (bytes: Buffer) => {
      this.reads.push(bytes.length)
      parser.push(bytes)
      this.#wake()
    })
    for (const event of ['end', 'close']) socket.on(event, () => this.#wake())
    socket.on('error', () => {})
  }

  /** @param settings what its first SETTINGS say */
  static async open({ port }: FaultServer, settings: readonly SettingsEntry[] = []): Promise<RawClient> {
    const socket = connect(port, '127.0.0.1')
    onTestFinished(() => void socket.destroy())
    await once(socket, 'connect')
    const client = new RawClient(socket)
    client.write(Buffer.from(PREFACE), frames.settings(...settings))
    return client
  }

  write(...pieces: readonly Buffer[]): void {
    this.socket.write(Buffer.concat(pieces))
  }

  /** A request; `'POST /a'` is left open for a body. */
  ask(id: number, what: string, fields: readonly Field[] = []): void {
    const [method = '', path = ''] = what.split(' ')
    const request: Field[] = [
      [':method', method],
      [':scheme', 'http'],
      [':path', path],
      [':authority', 'a'],
      ...fields,
    ]
    this.write(frames.headers(id, request, method === 'POST' ? 0 : Flag.END_STREAM))
  }

  async until(condition: () => boolean): Promise<void> {
    while (!condition()) await new Promise<void>((resolve) => this.#waiting.push(resolve))
  }

  /** Waits for the end of a response, and tells it: `200 text`, with its trailers. */
  async response(id: number): Promise<string> {
    const of = (): Frame[] =>
      this.frames.filter(({ streamId, type }) => streamId === id && type !== Type.WINDOW_UPDATE)
    await this.until(() => of().some(isLast))
    const words = of().map((frame) => {
      const fields = this.#headers.get(frame)
      if (fields !== undefined)
        return fields.map(([name, value]) => (name === ':status' ? value : `${name}=${value}`)).join(' ')
      return frame.type === Type.DATA ? toContent(frame).toString() : toTypeName(frame.type)
    })
    return words.filter((word) => word !== '').join(' ')
  }

  /** The names of what has come, from its SETTINGS on. */
  get names(): string[] {
    return this.frames.map(
      ({ type, streamId }) => `${toTypeName(type)}${streamId === 0 ? '' : ` ${streamId}`}`,
    )
  }

  #take(frame: Frame): void {
    this.frames.push(frame)
    const isWhole = frame.type === Type.HEADERS && (frame.flags & Flag.END_HEADERS) !== 0
    if (isWhole) this.#headers.set(frame, this.#hpack.decode(toContent(frame)))
  }

  #wake(): void {
    for (const wake of this.#waiting.splice(0)) wake()
  }
}

function isLast({ type, flags }: Frame): boolean {
  return (
    type === Type.RST_STREAM ||
    ((type === Type.DATA || type === Type.HEADERS) && (flags & Flag.END_STREAM) !== 0)
  )
}
