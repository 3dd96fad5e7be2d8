import { once } from 'node:events'
import type { Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { Http2Facts } from '../../../../src/cli/inspect/http2-facts.ts'
import { WireTap } from '../../../../src/cli/inspect/wire-tap.ts'
import { toSettings } from '../../../../src/protocol/inspect/frame-details.ts'
import type { ObservedFrame } from '../../../../src/protocol/inspect/frame-observer.ts'
import { frames } from '../../../../src/testing/index.ts'
import { NO_ERROR } from '../../../support/peers/error-codes.ts'

const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')

/** What a socket is to a tap: `push()` is the server's side, `written` what the client has sent. */
class FakeSocket extends Duplex {
  readonly written: Buffer[] = []
  /** Called when the next write is done; null: at once. */
  held: (() => void) | null = null
  holds = false

  override _read(): void {}

  override _write(chunk: Buffer, _encoding: BufferEncoding, callback: () => void): void {
    this.written.push(chunk)
    if (this.holds) this.held = callback
    else callback()
  }
}

interface Scene {
  readonly socket: FakeSocket
  readonly tap: WireTap
  readonly facts: Http2Facts
  readonly seen: ObservedFrame[]
}

function make(endsAtFault = false): Scene {
  const socket = new FakeSocket()
  const seen: ObservedFrame[] = []
  const facts = new Http2Facts((frame) => seen.push(frame))
  return { socket, tap: new WireTap(socket as unknown as Socket, facts, endsAtFault), facts, seen }
}

/** All that the tap hands on, until the server's end. */
async function receive({ socket, tap }: Scene, pieces: readonly Buffer[]): Promise<Buffer> {
  const chunks: Buffer[] = []
  tap.on('data', (chunk: Buffer) => chunks.push(chunk))
  for (const piece of pieces) socket.push(piece)
  socket.push(null)
  await once(tap, 'end')
  return Buffer.concat(chunks)
}

/** A response of the server's, ahead of whose header section the client has sent a request. */
const RESPONSE = Buffer.concat([
  frames.settings([3, 3]),
  frames.windowUpdate(0, 10),
  frames.frame(1, 0, 1, Buffer.of(0x88)),
  frames.frame(9, 4, 1, Buffer.of(0x40, 1, 0x61, 1, 0x62)),
  frames.data(1, 'some data'),
  frames.frame(0xee, 0, 0, Buffer.alloc(300)),
  frames.headers(1, [['t', 'u']], 1),
  frames.goAway(1, NO_ERROR, 'bye'),
])

function summarize(seen: readonly ObservedFrame[]): string[] {
  return seen.map(({ direction, type, streamId, length, fields, fault }) => {
    return `${direction} ${type} ${streamId} ${length} ${JSON.stringify(fields)} ${fault}`
  })
}

describe('WireTap', () => {
  it('finds the same frames, and hands on the same bytes, wherever they are cut', async () => {
    const sent = Buffer.concat([PREFACE, frames.settings(), frames.headers(1, [[':method', 'GET']], 1)])
    const run = async (size: number): Promise<string[]> => {
      const scene = make()
      for (let at = 0; at < sent.length; at += size) {
        await new Promise((resolve) => scene.tap.write(sent.subarray(at, at + size), resolve))
      }
      const pieces: Buffer[] = []
      for (let at = 0; at < RESPONSE.length; at += size) pieces.push(RESPONSE.subarray(at, at + size))
      expect((await receive(scene, pieces)).equals(RESPONSE)).toBe(true)
      expect(Buffer.concat(scene.socket.written).equals(sent)).toBe(true)
      return summarize(scene.seen)
    }
    const whole = await run(RESPONSE.length)
    expect(whole).toEqual([
      'sent 4 0 0 null null',
      `sent 1 1 ${frames.headers(1, [[':method', 'GET']], 1).length - 9} [[":method","GET"]] null`,
      'received 4 0 6 null null',
      'received 8 0 4 null null',
      'received 1 1 1 null null',
      'received 9 1 5 [[":status","200"],["a","b"]] null',
      'received 0 1 9 null null',
      'received 238 0 300 null null',
      'received 1 1 5 [["t","u"]] null',
      'received 7 0 11 null null',
    ])
    for (const size of [1, 2, 3, 7, 8, 9, 10, 13]) expect(await run(size)).toEqual(whole)
  })

  it('holds back as its reader and its socket do', async () => {
    const { socket, tap } = make()
    socket.holds = true
    let taken = 0
    tap.write(PREFACE, () => taken++)
    tap.write(frames.settings(), () => taken++)
    expect([socket.written.length, taken]).toEqual([1, 0])
    socket.held?.()
    expect([socket.written.length, taken]).toEqual([2, 1])
    // Nobody reads: the tap takes what it may hold, and the socket keeps the rest.
    for (let i = 0; i < 100; i++) socket.push(frames.data(1, Buffer.alloc(16_000)))
    tap.read(0)
    await new Promise(setImmediate)
    expect(socket.isPaused()).toBe(true)
    expect(tap.readableLength).toBeLessThan(3 * 65_536)
  })

  it('holds back both directions while what was shown has to be read', async () => {
    const socket = new FakeSocket()
    let go: (() => void) | null = null
    let isFull = false
    const room = (): Promise<void> | null =>
      isFull
        ? new Promise((resolve) => {
            go = resolve
          })
        : null
    const seen: ObservedFrame[] = []
    const facts = new Http2Facts((frame) => seen.push(frame))
    const tap = new WireTap(socket as unknown as Socket, facts, false, room)
    const chunks: Buffer[] = []
    tap.on('data', (chunk: Buffer) => chunks.push(chunk))
    await new Promise(setImmediate)
    isFull = true
    socket.push(frames.settings())
    await new Promise(setImmediate)
    expect([chunks.length, socket.isPaused()]).toEqual([1, true])
    tap.write(Buffer.concat([PREFACE, frames.settings()]))
    tap.read(0)
    socket.push(frames.settings())
    await new Promise(setImmediate)
    expect([chunks.length, socket.isPaused(), socket.written.length]).toEqual([1, true, 0])
    // A frame that isn't sent yet isn't shown as one, and has no time.
    expect(seen.map(({ direction }) => direction)).toEqual(['received'])
    const held = go as (() => void) | null
    isFull = false
    held?.()
    await new Promise(setImmediate)
    expect(socket.written.length).toBe(1)
    expect(seen.map(({ direction }) => direction)).toContain('sent')
  })

  it('a frame has the time when its bytes came, not the one when they were decoded', async () => {
    const scene = make()
    await receive(scene, [RESPONSE])
    expect(new Set(scene.seen.map(({ at }) => at)).size).toBe(1)
    const [{ at = 0 } = {}] = scene.seen
    expect([scene.facts.respondedAt, scene.facts.endedAt]).toEqual([at, at])
  })

  it('the end of the server is no loss of what it has sent before', async () => {
    const scene = make()
    scene.socket.push(RESPONSE)
    scene.socket.push(null)
    scene.tap.read(0)
    await once(scene.socket, 'end')
    scene.socket.destroy()
    await once(scene.socket, 'close')
    const chunks: Buffer[] = []
    for await (const chunk of scene.tap) chunks.push(chunk)
    expect(Buffer.concat(chunks).equals(RESPONSE)).toBe(true)
  })

  it('an error of the socket is its own, and its end is that of the socket', async () => {
    const { socket, tap } = make()
    const failed = once(tap, 'error')
    socket.destroy(new Error('lost'))
    expect(await failed).toMatchObject([{ message: 'lost' }])
    const other = make()
    other.tap.destroy()
    await once(other.socket, 'close')
    expect(other.socket.destroyed).toBe(true)
  })

  it.each([
    {
      what: 'no SETTINGS ahead',
      bytes: frames.ping(),
      fault: 'The peer began without SETTINGS (RFC 9113 §3.4)',
    },
    {
      what: 'a frame that is too large',
      bytes: frames.data(1, Buffer.alloc(16_385)),
      fault: 'A frame has 16385 bytes',
    },
    { what: 'DATA on an idle stream', bytes: frames.data(5, 'x'), fault: 'DATA arrived on an idle stream' },
    {
      what: 'DATA ahead of a header section',
      bytes: frames.data(1, 'x'),
      fault: 'DATA came before a header section',
    },
    {
      what: 'HEADERS on a closed stream',
      bytes: Buffer.concat([frames.response(1, 1), frames.response(1, 1)]),
      fault: 'HEADERS arrived on a closed stream',
    },
    {
      what: 'a block that is cut off',
      bytes: frames.frame(1, 4, 1, Buffer.of(0x40, 9)),
      fault: 'HPACK: a string that is longer than the block',
    },
    {
      what: 'a name in upper case',
      bytes: frames.headers(1, [
        [':status', '200'],
        ['A', 'b'],
      ]),
      fault: "A field has the name 'A'",
    },
    {
      what: 'too much padding',
      bytes: frames.frame(0, 8, 1, Buffer.of(9, 1)),
      fault: 'DATA has more padding than payload',
    },
  ])('names the rule that is broken: $what', async ({ bytes, fault, what }) => {
    const scene = make()
    scene.tap.write(Buffer.concat([PREFACE, frames.headers(1, [[':method', 'GET']], 1)]))
    const ahead = what === 'no SETTINGS ahead' ? [] : [frames.settings()]
    await receive(scene, [...ahead, bytes])
    expect(scene.facts.fault).toContain(fault)
  })

  it('ends the connection at a fault where it is to', async () => {
    const { socket, tap } = make(true)
    const failed = once(tap, 'error')
    tap.resume()
    socket.push(frames.ping())
    expect(await failed).toMatchObject([{ message: 'The peer began without SETTINGS (RFC 9113 §3.4)' }])
    expect(socket.destroyed).toBe(true)
  })

  it('goes on behind a list that a small block stands for', async () => {
    const scene = make()
    scene.tap.write(Buffer.concat([PREFACE, frames.headers(1, [[':method', 'GET']], 1)]))
    // An entry of 4,000 octets, and 16,000 times its index: 64 MB of fields.
    const entry = Buffer.concat([Buffer.of(0x88, 0x40, 1, 0x61, 0x7f, 0xa1, 0x1e), Buffer.alloc(4_000, 'b')])
    const block = Buffer.concat([entry, Buffer.alloc(12_000, 0xbe)])
    await receive(scene, [frames.settings(), frames.frame(1, 4, 1, block)])
    const [, value = ''] = scene.seen.at(-1)?.fields?.at(-1) ?? []
    expect(value).toHaveLength(4_000)
    expect(scene.seen.at(-1)?.fields?.length).toBeLessThan(300)
  })
})

describe('Http2Facts', () => {
  it('keeps settings, windows and limits as they were when the response came, and the round trip', async () => {
    const scene = make()
    const { facts, tap } = scene
    tap.write(Buffer.concat([PREFACE, frames.settings([4, 100]), frames.windowUpdate(0, 5)]))
    tap.write(frames.headers(1, [[':method', 'GET']], 1))
    expect([facts.serverSettings, facts.hasResponse, facts.roundTrip]).toEqual([null, false, null])
    await receive(scene, [
      frames.settings([3, 9]),
      frames.settings([4, 7]),
      frames.frame(4, 1, 0),
      frames.windowUpdate(0, 1),
      frames.response(1),
      frames.windowUpdate(0, 1_000),
      frames.settings([3, 1]),
    ])
    expect(facts.serverSettings).toEqual({ MAX_CONCURRENT_STREAMS: 9, INITIAL_WINDOW_SIZE: 7 })
    expect(facts.clientSettings).toEqual({ INITIAL_WINDOW_SIZE: 100 })
    expect(facts.limits).toEqual({ streams: 9, headerList: null, frame: 16_384 })
    expect(facts.serverWindows).toEqual({ stream: 7, connection: 65_536 })
    expect(facts.clientWindows).toEqual({ stream: 100, connection: 65_540 })
    expect(facts.requestFields).toEqual([[':method', 'GET']])
    expect(facts.roundTrip).toBeGreaterThanOrEqual(0)
  })

  it.each([
    { bytes: 'HTTP/1.1 400', protocol: 'HTTP/1.1' },
    { bytes: 'HTTP/', protocol: 'HTTP/1.1' },
    { bytes: '\x15\x03\x01\x00\x02\x02\x0a', protocol: 'TLS' },
    { bytes: '220 mail ESMTP', protocol: null },
    { bytes: '\0\0\0\x04\0\0\0\0\0', protocol: undefined },
    { bytes: '', protocol: undefined },
  ])('knows what is no HTTP/2: $protocol', async ({ bytes, protocol }) => {
    const { facts, socket, tap } = make()
    const ended = new Promise((resolve) => tap.on('end', resolve).on('error', resolve))
    tap.resume()
    socket.push(Buffer.from(bytes, 'latin1'))
    socket.push(null)
    await ended
    expect(facts.foreign).toBe(protocol)
  })

  it('settings that are unknown have their number', () => {
    expect(toSettings(Buffer.of(0, 3, 0, 0, 0, 1, 0x4d, 0x44, 0, 0, 0, 2, 0, 1))).toEqual({
      MAX_CONCURRENT_STREAMS: 1,
      '0x4d44': 2,
    })
  })
})
