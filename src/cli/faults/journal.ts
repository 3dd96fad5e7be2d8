/**
 * What arrives at `dodici faults`, as lines for `--verbose`. It also makes a server keep no more of that than
 * necessary.
 *
 * @module
 */

import { toErrorCodeName } from '../../errors/error-codes.ts'
import type { FaultConnection, FaultServer, RecordedFrame } from '../../testing/index.ts'
import type { Terminal } from '../terminal.ts'
import { toPrintable } from '../terminal.ts'

/** RFC 9113 §6.5.2 and RFC 8441 §3. */
const SETTINGS: Readonly<Record<number, string>> = {
  1: 'HEADER_TABLE_SIZE',
  2: 'ENABLE_PUSH',
  3: 'MAX_CONCURRENT_STREAMS',
  4: 'INITIAL_WINDOW_SIZE',
  5: 'MAX_FRAME_SIZE',
  6: 'MAX_HEADER_LIST_SIZE',
  8: 'ENABLE_CONNECT_PROTOCOL',
}

const ACK = 1
const END_STREAM = 1

/** Is told about all servers' events. */
export class Journal {
  /** Null: nothing is written. */
  readonly #log: Terminal | null
  #count = 0

  constructor(log: Terminal | null) {
    this.#log = log
  }

  /** Listens to this server. */
  addTo(server: FaultServer, isSecure: boolean): void {
    const numbers = new WeakMap<FaultConnection, number>()
    server.onConnection('*', {
      onConnection: (connection) => {
        const number = ++this.#count
        numbers.set(connection, number)
        // Otherwise a black hole would keep its side open for ever.
        connection.transport.once('end', () => {
          if (connection.isSilent) connection.transport.destroy()
        })
        this.#write(number, isSecure ? 'connected over TLS' : 'connected')
        connection.transport.once('close', () => {
          forgetConnection(server, connection)
          // Why the server has ended it. A problem names its connection by an index, which is reused here.
          for (const problem of server.problems.splice(0)) {
            this.#write(number, problem.replace(/^connection \d+: /, ''))
          }
          this.#write(number, 'closed')
        })
      },
      onFrame: (frame, connection) => {
        if (this.#log !== null) this.#write(numbers.get(connection) ?? 0, toLine(frame, connection))
        forgetFrames(server, connection)
      },
      onData: (stream) => {
        stream.chunks.length = 0
      },
    })
  }

  #write(number: number, text: string): void {
    this.#log?.print(`#${number} ${toPrintable(text)}`)
  }
}

/** The server is made for tests, which examine everything that has arrived. Here that would grow without bounds. */
function forgetFrames(server: FaultServer, connection: FaultConnection): void {
  connection.frames.length = 0
  server.frames.length = 0
  server.requests.length = 0
}

function forgetConnection({ connections }: FaultServer, connection: FaultConnection): void {
  const index = connections.indexOf(connection)
  if (index !== -1) connections.splice(index, 1)
}

/** `HEADERS 1 END_STREAM GET /path`: one of the client's frames. */
function toLine(frame: RecordedFrame, connection: FaultConnection): string {
  const { name, streamId } = frame
  const parts = [name, ...(streamId === 0 ? [] : [`${streamId}`]), ...toDetails(frame)]
  const newest = connection.streams.at(-1)
  if (name === 'HEADERS' && newest?.id === streamId && newest.trailers === null) parts.push(`${newest}`)
  return parts.join(' ')
}

/** Its contents, by type. A frame that is too short has none. */
function toDetails({ name, flags, payload }: RecordedFrame): string[] {
  const { length } = payload
  const toNumber = (at: number): number => payload.readUInt32BE(at)
  switch (name) {
    case 'DATA':
      return [`${length} B`, ...toEnd(flags)]
    case 'HEADERS':
      return toEnd(flags)
    case 'SETTINGS':
      return (flags & ACK) === 0 ? toSettings(payload) : ['ACK']
    case 'PING':
      return (flags & ACK) === 0 ? [] : ['ACK']
    case 'RST_STREAM':
      return length < 4 ? [] : [toErrorCodeName(toNumber(0))]
    case 'WINDOW_UPDATE':
      return length < 4 ? [] : [`+${toNumber(0)}`]
    case 'GOAWAY':
      return length < 8 ? [] : [toErrorCodeName(toNumber(4)), payload.toString('utf8', 8)].filter(Boolean)
    default:
      return []
  }
}

function toEnd(flags: number): string[] {
  return (flags & END_STREAM) === 0 ? [] : ['END_STREAM']
}

function toSettings(payload: Buffer): string[] {
  const entries: string[] = []
  for (let at = 0; at + 6 <= payload.length; at += 6) {
    const id = payload.readUInt16BE(at)
    entries.push(`${SETTINGS[id] ?? id}=${payload.readUInt32BE(at + 2)}`)
  }
  return entries
}
