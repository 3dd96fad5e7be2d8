/** A name server for tests (RFC 1035): A, AAAA and SRV over UDP and TCP. It knows what a test has told it. */

import type { RemoteInfo, Socket } from 'node:dgram'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import type { Server, Socket as TcpSocket } from 'node:net'
import { createServer } from 'node:net'
import { onTestFinished } from 'vitest'
import { listenOnFree } from './free-port.ts'

export type RecordType = 'A' | 'AAAA' | 'SRV'

/** One record's content: an address, or the host of a service. */
export type RecordData =
  | string
  | {
      readonly priority: number
      readonly weight: number
      readonly port: number
      readonly name: string
    }

/** - `drop`: no response at all; - `hold`: none until {@link DnsServer.release} */
export type Trouble = 'NXDOMAIN' | 'SERVFAIL' | 'REFUSED' | 'drop' | 'hold'

interface Answer {
  readonly records: readonly RecordData[]
  /** Seconds. */
  readonly ttl: number
  /** Over UDP the answer says only that it is truncated: the client has to ask again over TCP. */
  readonly isTruncated: boolean
}

const TYPES: Readonly<Record<RecordType, number>> = { A: 1, AAAA: 28, SRV: 33 }
const CODES = { NXDOMAIN: 3, SERVFAIL: 2, REFUSED: 5 } as const
const HEADER_SIZE = 12

export class DnsServer {
  /** Each question that came: `A api.test`, over TCP with ` (TCP)`. */
  readonly questions: string[] = []
  readonly #udp: Socket
  readonly #tcp: Server
  readonly #connections = new Set<TcpSocket>()
  readonly #answers = new Map<string, Answer | Trouble>()
  #held: (() => void)[] = []

  private constructor(udp: Socket, tcp: Server) {
    this.#udp = udp
    this.#tcp = tcp
    udp.on('message', (message, from) => this.#onDatagram(message, from))
    tcp.on('connection', (socket) => this.#onConnection(socket))
  }

  /** Starts one that ends with the test. */
  static async start(): Promise<DnsServer> {
    const tcp = createServer()
    // A resolver's socket may have any port of those that the operating system chooses.
    const port = await listenOnFree(tcp)
    const udp = createSocket('udp4')
    udp.bind(port, '127.0.0.1')
    await once(udp, 'listening')
    const server = new DnsServer(udp, tcp)
    onTestFinished(() => server.stop())
    return server
  }

  /** For `servers`. */
  get address(): string {
    return `127.0.0.1:${this.#udp.address().port}`
  }

  async stop(): Promise<void> {
    const closed = once(this.#tcp, 'close')
    this.#udp.close()
    this.#tcp.close()
    for (const socket of this.#connections) socket.destroy()
    await closed
  }

  /** What a question gets from now on. A name without any gets NXDOMAIN, and one without that type an empty answer. */
  set(
    name: string,
    type: RecordType,
    records: readonly RecordData[] | Trouble,
    ttl = 60,
    isTruncated = false,
  ): void {
    const answer = typeof records === 'string' ? records : { records, ttl, isTruncated }
    this.#answers.set(`${type} ${name}`, answer)
  }

  /** Sends the responses that were held. */
  release(): void {
    const held = this.#held
    this.#held = []
    for (const send of held) send()
  }

  #onDatagram(message: Buffer, { port, address }: RemoteInfo): void {
    this.#respond(message, false, (response) => this.#udp.send(response, port, address))
  }

  #onConnection(socket: TcpSocket): void {
    this.#connections.add(socket)
    socket.on('close', () => this.#connections.delete(socket))
    socket.on('error', () => socket.destroy())
    let read = Buffer.alloc(0)
    socket.on('data', (chunk: Buffer) => {
      read = Buffer.concat([read, chunk])
      while (read.length >= 2 && read.length >= 2 + read.readUInt16BE(0)) {
        const end = 2 + read.readUInt16BE(0)
        this.#respond(read.subarray(2, end), true, (response) => {
          const length = Buffer.alloc(2)
          length.writeUInt16BE(response.length)
          socket.write(Buffer.concat([length, response]))
        })
        read = read.subarray(end)
      }
    })
  }

  #respond(query: Buffer, isTcp: boolean, send: (response: Buffer) => void): void {
    const { name, type, end } = readQuestion(query)
    this.questions.push(`${type} ${name}${isTcp ? ' (TCP)' : ''}`)
    const answer = this.#answers.get(`${type} ${name}`) ?? this.#toMissing(name)
    if (answer === 'drop') return
    if (answer === 'hold') {
      this.#held.push(() => this.#respond(query, isTcp, send))
      return
    }
    const question = query.subarray(HEADER_SIZE, end)
    const id = query.readUInt16BE(0)
    if (typeof answer === 'string') {
      send(Buffer.concat([toHeader(id, CODES[answer], 0, false), question]))
    } else if (answer.isTruncated && !isTcp) {
      send(Buffer.concat([toHeader(id, 0, 0, true), question]))
    } else {
      const records = answer.records.map((data) => toRecord(TYPES[type], answer.ttl, data))
      send(Buffer.concat([toHeader(id, 0, records.length, false), question, ...records]))
    }
  }

  #toMissing(name: string): Answer | Trouble {
    const isKnown = [...this.#answers.keys()].some((key) => key.endsWith(` ${name}`))
    return isKnown ? { records: [], ttl: 0, isTruncated: false } : 'NXDOMAIN'
  }
}

function readQuestion(query: Buffer): { name: string; type: RecordType; end: number } {
  const labels: string[] = []
  let at = HEADER_SIZE
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length))
    at += 1 + length
  }
  const code = query.readUInt16BE(at + 1)
  const [type] = Object.entries(TYPES).find(([, value]) => value === code) ?? []
  if (type === undefined) throw new Error(`No test asks for records of type ${code}`)
  // A client may choose upper and lower case at random (0x20).
  return { name: labels.join('.').toLowerCase(), type: type as RecordType, end: at + 5 }
}

function toHeader(id: number, code: number, answers: number, isTruncated: boolean): Buffer {
  const header = Buffer.alloc(HEADER_SIZE)
  header.writeUInt16BE(id, 0)
  header.writeUInt16BE(0x8580 | code | (isTruncated ? 0x200 : 0), 2)
  header.writeUInt16BE(1, 4)
  header.writeUInt16BE(answers, 6)
  return header
}

/** The name is a pointer to the question's. */
function toRecord(type: number, ttl: number, data: RecordData): Buffer {
  const content = toContent(type, data)
  const head = Buffer.alloc(12)
  head.writeUInt16BE(0xc0_0c, 0)
  head.writeUInt16BE(type, 2)
  head.writeUInt16BE(1, 4)
  head.writeUInt32BE(ttl, 6)
  head.writeUInt16BE(content.length, 10)
  return Buffer.concat([head, content])
}

function toContent(type: number, data: RecordData): Buffer {
  if (typeof data !== 'string') {
    const head = Buffer.alloc(6)
    head.writeUInt16BE(data.priority, 0)
    head.writeUInt16BE(data.weight, 2)
    head.writeUInt16BE(data.port, 4)
    return Buffer.concat([head, toName(data.name)])
  }
  if (type === TYPES.A) return Buffer.from(data.split('.').map(Number))
  const [head = '', tail = ''] = data.split('::')
  const front = head === '' ? [] : head.split(':')
  const back = tail === '' ? [] : tail.split(':')
  const groups = [...front, ...Array<string>(8 - front.length - back.length).fill('0'), ...back]
  return Buffer.from(
    groups.flatMap((group) => [Number.parseInt(group, 16) >> 8, Number.parseInt(group, 16) & 255]),
  )
}

function toName(name: string): Buffer {
  const labels = name === '.' ? [] : name.split('.')
  const parts = labels.map((label) =>
    Buffer.concat([Buffer.from([label.length]), Buffer.from(label, 'latin1')]),
  )
  return Buffer.concat([...parts, Buffer.from([0])])
}
