import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import type { AddressInfo, Server, Socket } from 'node:net'
import { connect, createServer } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { makeRandom } from '../../scripts/random.mjs'
import { CALM, FlowLedger, Lane, Pipe, toCut } from '../../scripts/soak/chaos/lane.mjs'
import { toPage } from '../../scripts/soak/chaos/record.mjs'
import { FrameParser, frames, Setting } from '../../src/testing/frames.ts'
import { FLOW_CONTROL_ERROR, NO_ERROR, PROTOCOL_ERROR } from '../support/peers/error-codes.ts'

async function listen(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  return (server.address() as AddressInfo).port
}

/** Both ends of a connection. */
async function toPair(): Promise<[Socket, Socket]> {
  const server = createServer({ allowHalfOpen: true })
  const port = await listen(server)
  const accepted = once(server, 'connection')
  const near = connect({ port, host: '127.0.0.1' })
  const [far] = (await accepted) as [Socket]
  for (const socket of [near, far]) {
    socket.on('error', () => {})
    onTestFinished(() => void socket.destroy())
  }
  return [near, far]
}

/** A relay's way to a server that keeps what it gets. */
async function startLane(): Promise<{ lane: Lane; client: Socket; received: Buffer[] }> {
  const received: Buffer[] = []
  const server = createServer((socket) => {
    onTestFinished(() => void socket.destroy())
    socket.on('error', () => {}).on('data', (chunk) => received.push(Buffer.from(chunk)))
  })
  const lane = new Lane('a server', await listen(server), makeRandom(1), () => {})
  const client = connect({ port: await listen(lane.server), host: '127.0.0.1' })
  client.on('error', () => {})
  onTestFinished(() => void client.destroy())
  await once(client, 'connect')
  return { lane, client, received }
}

const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')

it.each([
  ['as they come', CALM],
  ['in pieces', { ...CALM, cut: toCut(makeRandom(1), 1_000) }],
  ['late', { ...CALM, delay: () => 5 }],
])('the relay passes all bytes on, in order, and the end behind them: %s', async (_, weather) => {
  const [from, source] = await toPair()
  const [sink, to] = await toPair()
  new Pipe(source, sink, () => weather)
  const bytes = Buffer.from(Array.from({ length: 700_000 }, (_, index) => index % 251))
  const received: Buffer[] = []
  to.on('data', (chunk) => received.push(Buffer.from(chunk)))
  from.end(bytes)
  await once(to, 'end')
  expect(Buffer.concat(received).equals(bytes)).toBe(true)
})

it('the relay holds bytes back, and passes them on later', async () => {
  const [from, source] = await toPair()
  const [sink, to] = await toPair()
  let isHeld = true
  const pipe = new Pipe(source, sink, () => ({ ...CALM, isHeld }))
  from.write('held')
  await once(source, 'data')
  expect(sink.bytesWritten).toBe(0)
  isHeld = false
  pipe.run()
  const [chunk] = await once(to, 'data')
  expect(`${chunk}`).toBe('held')
})

it('the relay counts each GOAWAY of the client, and tells of one with an error', async () => {
  const { lane, client, received } = await startLane()
  client.write(
    Buffer.concat([
      PREFACE,
      frames.settings(),
      frames.goAway(0, NO_ERROR, ''),
      frames.goAway(0, PROTOCOL_ERROR, 'why'),
    ]),
  )
  await expect.poll(() => Buffer.concat(received).length).toBeGreaterThan(PREFACE.length + 9 + 2 * 17)
  expect(lane.tally.goaways).toEqual({ 0: 1, 1: 1 })
  expect(lane.tally.strange).toEqual(['GOAWAY of the client with code 1 (why); faults: none'])
})

it.each([
  { what: 'within its stream window', bytes: 1_000, updates: 0, expected: null },
  { what: 'beyond its stream window', bytes: 1_001, updates: 0, expected: 1 },
  { what: 'that a WINDOW_UPDATE allowed', bytes: 1_001, updates: 1, expected: null },
  { what: 'beyond the window of the connection', bytes: 70_000, updates: 69_000, expected: 0 },
])('the relay knows DATA $what', ({ bytes, updates, expected }) => {
  const flow = new FlowLedger()
  const client = new FrameParser((frame) => flow.onClientFrame(frame), 'client')
  const server = new FrameParser((frame) => flow.onServerFrame(frame), 'server')
  client.push(Buffer.concat([PREFACE, frames.settings([Setting.INITIAL_WINDOW_SIZE, 1_000])]))
  // Until its ACK, the window of before counts.
  server.push(frames.data(3, 'x'.repeat(1_001)))
  expect(flow.overrun).toBeNull()
  server.push(frames.settingsAck())
  if (updates > 0) client.push(frames.windowUpdate(1, updates))
  for (let left = bytes; left > 0; left -= 500) server.push(frames.data(1, 'x'.repeat(Math.min(left, 500))))
  expect(flow.overrun).toBe(expected)
})

it('the relay knows which GOAWAY with an error the server has earned: it went beyond the window', async () => {
  const server = createServer((socket) => {
    onTestFinished(() => void socket.destroy())
    socket.on('error', () => {})
    socket.write(Buffer.concat([frames.settings(), frames.settingsAck(), frames.data(1, 'xx')]))
  })
  const lane = new Lane('a server', await listen(server), makeRandom(1), () => {})
  const client = connect({ port: await listen(lane.server), host: '127.0.0.1' })
  client.on('error', () => {})
  onTestFinished(() => void client.destroy())
  client.write(Buffer.concat([PREFACE, frames.settings([Setting.INITIAL_WINDOW_SIZE, 1])]))
  await once(client, 'data')
  client.write(
    Buffer.concat([frames.goAway(0, FLOW_CONTROL_ERROR, ''), frames.goAway(0, PROTOCOL_ERROR, 'no cause')]),
  )
  await expect.poll(() => lane.tally.strange).toHaveLength(1)
  expect(lane.tally.earned).toEqual({ 'the server exceeded the window of a stream': 1 })
  expect(lane.tally.strange[0]).toContain('no cause')
})

it('a reset of the relay reaches both ends', async () => {
  const { lane, client } = await startLane()
  await expect.poll(() => lane.links.size).toBe(1)
  const [link] = lane.links
  if (link === undefined) throw new Error('no connection')
  link.up.untilReset = 3
  const closed = new Promise((resolve) => client.once('close', resolve))
  client.write('four')
  await closed
  expect(client.errored).toMatchObject({ code: 'ECONNRESET' })
  await expect.poll(() => lane.links.size).toBe(0)
})

it('docs/chaos.md is the page of docs/chaos.json', async () => {
  const read = (name: string) => readFile(new URL(`../../docs/${name}`, import.meta.url), 'utf8')
  const record = await read('chaos.json')
  expect(await read('chaos.md')).toBe(toPage(JSON.parse(record)))
  expect(record.length).toBeLessThan(60_000)
})
