/**
 * The recipe "An engine" of docs/architecture.md, tried: an engine that isn't HTTP/2 at all. Its frames are lines of JSON, a
 * request has one, and a response one for its header section, one for each piece of its body, and one for its end.
 */

import { createServer } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Attempt, Carrier } from '../../../src/call/attempt.ts'
import type { Call } from '../../../src/call/call.ts'
import { systemClock } from '../../../src/core/clock.ts'
import { StreamError } from '../../../src/errors/errors.ts'
import { toClientOptions, toConnections, toOrigin } from '../../../src/options/options.ts'
import { PingLedger } from '../../../src/protocol/ping-ledger.ts'
import { CallScheduler } from '../../../src/scheduler/call-scheduler.ts'
import type { ConnectionOwner, Engine, EngineConnection, EngineStream } from '../../../src/session/engine.ts'
import { Http2Session } from '../../../src/session/http2-session.ts'
import { OriginMemory } from '../../../src/session/origin-memory.ts'
import type { SessionFactory } from '../../../src/session/session.ts'
import type { FlowSide } from '../../../src/session/stream/response-flow.ts'
import { ResponseFlow } from '../../../src/session/stream/response-flow.ts'
import type { Transport } from '../../../src/session/transport.ts'
import { Recorder } from '../../support/clients/recorder.ts'
import { listen } from '../../support/servers/listen.ts'

/** What a server sends. */
interface Line {
  readonly id: number
  readonly status?: number
  readonly data?: string
  readonly end?: true
  readonly reset?: number
}

class ToyStream implements Attempt, EngineStream, FlowSide {
  listIndex = -1
  window = 0
  streamId: number | null = null
  isClosed = false
  isEndedEarly = false
  readonly carrier: Carrier = { protocol: 'h2c', id: 1, transport: null }
  readonly isConnected = true
  readonly isAccepted = false
  readonly hasUpload = false
  readonly isStuck = false
  readonly isLeftOut = false
  readonly maxHeaderListSize = Number.POSITIVE_INFINITY
  readonly #flow: ResponseFlow
  readonly #connection: ToyConnection

  constructor(connection: ToyConnection, call: Call) {
    this.#connection = connection
    this.#flow = new ResponseFlow(this, call)
  }

  get meter(): ResponseFlow {
    return this.#flow
  }

  get hasBegun(): boolean {
    return this.streamId !== null
  }

  get hasResponded(): boolean {
    return this.#flow.isAnswered
  }

  get isDone(): boolean {
    return this.#flow.isDone
  }

  get isIdle(): boolean {
    return this.#flow.isDone
  }

  get isHeld(): boolean {
    return this.#flow.isHeld
  }

  open(): void {
    const wire = this.#flow.begin(this)
    if (wire === null) return
    this.streamId = this.#connection.add(this)
    this.#connection.send({ id: this.streamId, fields: wire })
    this.#flow.call.tellSent()
  }

  onLine({ status, data, end, reset }: Line): void {
    const flow = this.#flow
    if (end === true || reset !== undefined) this.isClosed = true
    if (status !== undefined) {
      const headers = { toy: 'yes' }
      this.#connection.owner.onResponded(headers)
      flow.respond(status, headers, ['toy', 'yes'])
    }
    if (data !== undefined && flow.isFlowing) flow.data(Buffer.from(data))
    else if (data !== undefined) flow.hold(Buffer.from(data))
    if (reset !== undefined) {
      this.isEndedEarly = true
      flow.fail(new StreamError('The toy was reset', { http2ErrorCode: reset, processed: 'no' }))
    }
    if (end === true) flow.endData('whole')
    flow.tellOver()
  }

  cancel(): void {
    this.#flow.cancel()
    this.#connection.owner.reset(this)
  }

  reset(): void {
    this.isClosed = true
    this.isEndedEarly = true
    this.#connection.send({ id: this.streamId, reset: 8 })
    this.#flow.tellOver()
  }

  onOver(): void {
    this.#connection.owner.onStreamClosed(this)
  }

  fail(error: Error): void {
    this.#flow.failCall(error)
  }

  giveUp(): void {}

  onLost(): void {
    this.isClosed = true
    this.#flow.fail(this.#connection.owner.toLossError(this.streamId, null))
    this.#flow.tellOver()
  }

  closeConnection(): void {
    this.#connection.owner.onMisdirected(this.#flow.call.request)
  }

  resume(): void {
    this.#flow.handOn()
  }

  toTunnelSide(): null {
    return null
  }

  onConnected(): void {}
  pause(): void {}
  proceed(): void {}
  reprioritize(): void {}
  onTaken(): void {}
  onComplete(): void {}
}

class ToyConnection implements EngineConnection {
  readonly engine = 'wire'
  readonly pings = new PingLedger()
  readonly socket: Transport
  readonly owner: ConnectionOwner
  readonly bytesRead = null
  readonly isDisconnected = false
  readonly areFramesSent = true
  readonly isShut = false
  isDestroyedByUs = false
  lastAcceptedId = 0
  readonly #streams = new Map<number, ToyStream>()
  #nextId = 1
  #rest = ''

  constructor(socket: Transport, owner: ConnectionOwner) {
    this.socket = socket
    this.owner = owner
    socket.on('error', (error) => owner.onError(error))
    socket.on('close', () => owner.onClose())
    socket.on('data', (chunk: Buffer) => this.#read(chunk))
  }

  get canTake(): boolean {
    return !this.isDestroyed
  }

  get isDestroyed(): boolean {
    return this.isDestroyedByUs || this.socket.destroyed
  }

  add(stream: ToyStream): number {
    const id = this.#nextId
    this.#nextId += 2
    this.#streams.set(id, stream)
    return id
  }

  send(line: object): void {
    if (!this.isDestroyed) this.socket.write(`${JSON.stringify(line)}\n`)
  }

  #read(chunk: Buffer): void {
    const lines = (this.#rest + chunk.toString()).split('\n')
    this.#rest = lines.pop() ?? ''
    for (const text of lines) {
      const line: Line = JSON.parse(text)
      if (line.id === 0) this.owner.onSettings({ maxConcurrentStreams: line.status })
      else this.#streams.get(line.id)?.onLine(line)
    }
  }

  toStream(call: Call): ToyStream {
    return new ToyStream(this, call)
  }

  ping(): boolean {
    return false
  }

  end(): void {
    this.socket.end()
  }

  destroy(): void {
    this.isDestroyedByUs = true
    this.socket.destroy()
  }

  setRef(): void {}
  look(): void {}
  close(): void {}
  sendWindows(): void {}
}

const toyEngine: Engine = {
  connect: (_context, socket, _windows, owner) => new ToyConnection(socket, owner),
}

const toToySession: SessionFactory = (context, id, openedFor) =>
  new Http2Session({ ...context, engine: { use: (onLoaded) => onLoaded(toyEngine) } }, id, openedFor)

/** A server of lines, and a scheduler whose sessions speak with it. */
async function start() {
  const requests: { id: number; fields?: string[]; reset?: number }[] = []
  const server = createServer((socket) => {
    let rest = ''
    socket.on('data', (chunk: Buffer) => {
      const lines = (rest + chunk.toString()).split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) requests.push(JSON.parse(line))
    })
  })
  const { port, sockets } = await listen(server)
  const options = { fallback: null, connections: 1 }
  const scheduler = new CallScheduler(
    toOrigin(`http://127.0.0.1:${port}`),
    toClientOptions(options),
    toConnections(options),
    systemClock,
    new OriginMemory(systemClock),
    { onConnect() {}, onDisconnect() {}, onConnectionError() {}, onDrain() {} },
    toToySession,
  )
  onTestFinished(() => scheduler.destroy(null))

  function ask(path: string): Recorder {
    const recorder = new Recorder()
    scheduler.add({ path, method: 'GET' }, recorder)
    return recorder
  }

  /** The server says this, in one piece. */
  function tell(...lines: readonly Line[]): void {
    sockets[0]?.write(lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
  }

  return { requests, scheduler, sockets, ask, tell }
}

describe('a third engine', () => {
  it('serves calls side by side, in the order of its peer', async () => {
    const { requests, ask, tell } = await start()
    const calls = [ask('/a'), ask('/b')]
    await expect.poll(() => requests.length).toBe(2)
    expect(requests.map(({ fields }) => fields?.slice(0, 2))).toEqual([
      [':method', 'GET'],
      [':method', 'GET'],
    ])
    tell({ id: 0, status: 2 }, { id: 3, status: 200, data: 'b' }, { id: 1, status: 200, data: 'a' })
    tell({ id: 1, end: true }, { id: 3, data: 'b', end: true })
    await Promise.all(calls.map(({ settled }) => settled))
    expect(calls.map(({ text }) => text)).toEqual(['a', 'bb'])
  })

  it('keeps to the limit that its peer announces, and gives a place back', async () => {
    const { requests, scheduler, ask, tell } = await start()
    const first = ask('/a')
    await expect.poll(() => requests.length).toBe(1)
    tell({ id: 0, status: 1 })
    await expect.poll(() => scheduler.toSessionStats()[0]?.limit).toBe(1)
    const second = ask('/b')
    expect([scheduler.pending, requests.length]).toEqual([1, 1])
    tell({ id: 1, status: 200, end: true })
    await first.settled
    await expect.poll(() => requests.length).toBe(2)
    tell({ id: 3, status: 204, end: true })
    await second.settled
    expect(second.statuses).toEqual([204])
  })

  it('has a refused call sent again, and tells the peer of an abort', async () => {
    const { requests, ask, tell } = await start()
    const call = ask('/a')
    await expect.poll(() => requests.length).toBe(1)
    tell({ id: 0, status: 10 }, { id: 1, reset: 7 })
    await expect.poll(() => requests.length).toBe(2)
    call.controller?.abort()
    await call.settled
    await expect.poll(() => requests.at(-1)).toEqual({ id: 3, reset: 8 })
  })

  it('fails its calls when its connection is lost', async () => {
    const { requests, sockets, ask, tell } = await start()
    const call = ask('/a')
    await expect.poll(() => requests.length).toBe(1)
    tell({ id: 0, status: 10 }, { id: 1, status: 200, data: 'a' })
    await expect.poll(() => call.text).toBe('a')
    sockets[0]?.destroy()
    await call.settled
    expect(call.error).toMatchObject({ code: 'UND_ERR_SOCKET', processed: 'yes', streamId: 1 })
  })
})
