import type { Socket } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { ProxyConnectionError } from '../../../src/errors/proxy-errors.ts'
import type { Http1ConnectListener, Http1Response } from '../../../src/proxy/http1-connect.ts'
import { Http1Connect } from '../../../src/proxy/http1-connect.ts'
import type { ProxyEnds } from '../session/connect/proxy-scene.ts'
import { closed, openEnds, readAll, sendPieces, toCuts } from '../session/connect/proxy-scene.ts'

/** Writes down what it hears. */
class Notes implements Http1ConnectListener {
  readonly events: string[] = []
  readonly raw: string[][] = []
  readonly errors: Error[] = []
  readonly settled: Promise<void>
  #body = ''
  #settle: () => void = () => {}

  constructor() {
    this.settled = new Promise((resolve) => {
      this.#settle = resolve
    })
  }

  onTunnel({ statusCode, raw }: Http1Response, _socket: Socket): void {
    this.events.push(`tunnel ${statusCode}`)
    this.raw.push(raw)
    this.#settle()
  }

  onResponse({ statusCode, raw }: Http1Response): void {
    this.events.push(`response ${statusCode}`)
    this.raw.push(raw)
  }

  onData(chunk: Buffer): void {
    this.#body += chunk.toString('latin1')
  }

  onEnd(): void {
    this.events.push(`end ${JSON.stringify(this.#body)}`)
    this.#settle()
  }

  onError(error: Error): void {
    this.events.push('error')
    this.errors.push(error)
    this.#settle()
  }
}

interface Scene extends ProxyEnds {
  readonly notes: Notes
  readonly exchange: Http1Connect
}

function start(fields: readonly string[] = []): Scene {
  const ends = openEnds()
  const notes = new Notes()
  const exchange = new Http1Connect(ends.socket, notes)
  exchange.send('a.test:443', fields)
  return { ...ends, notes, exchange }
}

const bytes = (text: string): Buffer => Buffer.from(text, 'latin1')

/** Plays a response in one piece. */
async function play(text: string, end: 'open' | 'end' | 'reset' = 'open'): Promise<Scene> {
  const scene = start()
  await sendPieces(scene.proxy, [bytes(text)])
  if (end === 'end') scene.proxy.end()
  if (end === 'reset') scene.proxy.resetAndDestroy()
  await scene.notes.settled
  return scene
}

const ESTABLISHED = 'HTTP/1.1 200 Connection established\r\nVia: 1.1 proxy\r\n\r\n'

describe('CONNECT', () => {
  it('is sent in the form of RFC 9112 §3.2.3', async () => {
    const { received } = start(['proxy-authorization', 'Basic abc', 'x-a', '1'])
    await nextTurn()
    await nextTurn()
    expect(received().toString()).toBe(
      'CONNECT a.test:443 HTTP/1.1\r\nhost: a.test:443\r\nproxy-connection: keep-alive\r\n' +
        'proxy-authorization: Basic abc\r\nx-a: 1\r\n\r\n',
    )
  })
})

describe('a 2xx', () => {
  it.each(['', 'SERVER'])('is a tunnel at each cut, with %j behind it', async (first) => {
    for (const pieces of toCuts(bytes(ESTABLISHED + first))) {
      const { proxy, socket, notes } = start()
      await sendPieces(proxy, pieces)
      await notes.settled
      expect(notes.events).toEqual(['tunnel 200'])
      expect(notes.raw).toEqual([['Via', '1.1 proxy']])
      proxy.write('more')
      expect(await readAll(socket, first.length + 4)).toBe(`${first}more`)
    }
  })

  it.each([
    'HTTP/1.1 200\r\n\r\n',
    'HTTP/1.0 200 OK\r\n\r\n',
    'HTTP/1.1 200 OK\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n',
    'HTTP/1.1 204 No Content\r\n\r\n',
    'HTTP/1.1 299 \xe4\r\nx-empty:\r\nx-a:\t \xe4 \t\r\n\r\n',
  ])('%j', async (text) => {
    const { notes, socket, proxy } = await play(`${text}SERVER`)
    expect(notes.events).toEqual([`tunnel ${text.slice(9, 12)}`])
    expect(await readAll(socket, 6)).toBe('SERVER')
    expect(proxy.destroyed).toBe(false)
  })

  it('values have no white space around them', async () => {
    const { notes } = await play('HTTP/1.1 200 OK\r\na:\r\nb: \t \r\nc:\t x y \xa0\t\r\n\r\n')
    expect(notes.raw).toEqual([['a', '', 'b', '', 'c', 'x y \xa0']])
  })

  it('the tunnel belongs to the listener: the exchange hears no more of it', async () => {
    const { notes, exchange, socket, proxy } = await play(ESTABLISHED)
    exchange.cancel()
    expect(socket.destroyed).toBe(false)
    proxy.resetAndDestroy()
    await closed(socket)
    expect(notes.events).toEqual(['tunnel 200'])
  })

  it('comes after informational responses, in pieces or in one', async () => {
    const text = `HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nlink: x\r\n\r\n${ESTABLISHED}SERVER`
    for (const pieces of toCuts(bytes(text))) {
      const { proxy, socket, notes } = start()
      await sendPieces(proxy, pieces)
      await notes.settled
      expect(notes.events).toEqual(['response 100', 'response 103', 'tunnel 200'])
      expect(await readAll(socket, 6)).toBe('SERVER')
    }
  })

  it('comes after thousands of informational responses in one chunk', async () => {
    const { notes } = await play('HTTP/1.1 100\r\n\r\n'.repeat(20_000) + ESTABLISHED)
    expect(notes.events).toHaveLength(20_001)
    expect(notes.events.at(-1)).toBe('tunnel 200')
  })
})

describe('what is no response of HTTP/1.1', () => {
  it.each([
    ['\r\n\r\n', 'its status line is malformed'],
    ['HTTP/2 200 OK\r\n\r\n', 'its status line is malformed'],
    ['HTTP/1.1 2000 OK\r\n\r\n', 'its status line is malformed'],
    ['HTTP/1.1 099 OK\r\n\r\n', 'its status line is malformed'],
    ['HTTP/1.1  200 OK\r\n\r\n', 'its status line is malformed'],
    ['SSH-2.0-OpenSSH\r\n\r\n', 'its status line is malformed'],
    ['HTTP/1.1 200 OK\r\nno colon\r\n\r\n', 'malformed header field'],
    ['HTTP/1.1 200 OK\r\nspace : x\r\n\r\n', 'malformed header field'],
    ['HTTP/1.1 200 OK\r\na: x\r\n folded\r\n\r\n', 'malformed header field'],
    ['HTTP/1.1 200 OK\r\na: x\ny: z\r\n\r\n', 'malformed header field'],
    ['HTTP/1.1 200 OK\r\na: x\0\r\n\r\n', 'malformed header field'],
    [`HTTP/1.1 200 OK\r\na:${' '.repeat(60_000)}\x01\r\n\r\n`, 'malformed header field'],
    ['HTTP/1.1 101 Switching\r\n\r\n', 'responded to CONNECT with status 101'],
    [`HTTP/1.1 200 OK\r\na: ${'x'.repeat(65_536)}\r\n\r\n`, 'has more than 65536 bytes'],
  ])('%j fails, and the socket is closed', async (text, message) => {
    const { notes, socket } = await play(text)
    expect(notes.events).toEqual(['error'])
    expect(notes.errors[0]).toBeInstanceOf(ProxyConnectionError)
    expect(notes.errors[0]?.message).toContain(message)
    expect(socket.destroyed).toBe(true)
  })

  it('a header that never ends is cut off', async () => {
    const { proxy, notes, socket } = start()
    const piece = Buffer.alloc(1_000, 'x')
    let sent = 0
    proxy.write('HTTP/1.1 200 OK\r\nx: ')
    while (!socket.destroyed) {
      await sendPieces(proxy, [piece])
      sent += piece.length
    }
    expect(sent).toBeLessThan(70_000)
    expect(notes.errors[0]?.message).toContain('has more than 65536 bytes')
  })
})

describe('a proxy that goes away', () => {
  it.each(['end', 'reset'] as const)('by %s, after each byte of its header', async (way) => {
    for (let length = 0; length < ESTABLISHED.length; length++) {
      const { notes, socket } = await play(ESTABLISHED.slice(0, length), way)
      expect(notes.events).toEqual(['error'])
      expect(notes.errors[0]).toBeInstanceOf(ProxyConnectionError)
      expect(notes.errors[0]?.message).toBe('The proxy closed the connection before it responded')
      expect(notes.errors[0]?.cause).toEqual(
        way === 'end' ? null : expect.objectContaining({ code: 'ECONNRESET' }),
      )
      expect(socket.destroyed).toBe(true)
    }
  })

  it('by end, in one read with its 200: the tunnel has it', async () => {
    const { proxy, socket, notes } = start()
    proxy.end(`${ESTABLISHED}SERVER`)
    await notes.settled
    expect(notes.events).toEqual(['tunnel 200'])
    const ended = new Promise((resolve) => socket.once('end', resolve))
    expect(await readAll(socket, 6)).toBe('SERVER')
    await ended
  })
})

describe('a refusal', () => {
  const HEAD = 'HTTP/1.1 407 No\r\nproxy-authenticate: Basic\r\n'
  it.each([
    [`${HEAD}content-length: 5\r\n\r\nhello`, 'hello'],
    [`${HEAD}content-length: 0\r\n\r\n`, ''],
    [`${HEAD}transfer-encoding: chunked\r\n\r\n3\r\nhel\r\n2;x=y\r\nlo\r\n0\r\n\r\n`, 'hello'],
  ])('with its body at each cut: %j', async (text, body) => {
    for (const pieces of toCuts(bytes(text))) {
      const { proxy, notes, socket } = start()
      await sendPieces(proxy, pieces)
      await notes.settled
      expect(notes.events).toEqual(['response 407', `end ${JSON.stringify(body)}`])
      expect(notes.raw[0]?.slice(0, 2)).toEqual(['proxy-authenticate', 'Basic'])
      expect(socket.destroyed).toBe(true)
    }
  })

  it.each(['end', 'reset'] as const)('whose body ends by %s, after each byte', async (way) => {
    for (const head of ['', 'content-length: 9\r\n']) {
      for (let length = 0; length < 5; length++) {
        const { notes, socket } = await play(`${HEAD}${head}\r\n${'hello'.slice(0, length)}`, way)
        expect(notes.events).toEqual(['response 407', `end ${JSON.stringify('hello'.slice(0, length))}`])
        expect(socket.destroyed).toBe(true)
      }
    }
  })

  it('whose listener cancels it gives nothing more', async () => {
    const { proxy, notes, exchange, socket } = start()
    notes.onData = () => exchange.cancel()
    await sendPieces(proxy, [bytes(`${HEAD}content-length: 5\r\n\r\nhello`)])
    await closed(socket)
    expect(notes.events).toEqual(['response 407'])
  })
})

describe('cancel()', () => {
  it('closes the connection, and nothing is heard', async () => {
    for (let length = 0; length < ESTABLISHED.length; length++) {
      const { proxy, notes, exchange, socket } = start()
      await sendPieces(proxy, [bytes(ESTABLISHED.slice(0, length))])
      exchange.cancel()
      exchange.cancel()
      await closed(socket)
      expect(notes.events).toEqual([])
    }
  })
})
