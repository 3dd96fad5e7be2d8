import { execFile } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { connect as connectHttp2 } from 'node:http2'
import { connect } from 'node:net'
import { promisify } from 'node:util'
import { WebSocket } from 'undici'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { PROGRAM_ENV } from '../../../scripts/program-env.mjs'
import { Agent, Client } from '../../../src/index.ts'
import { destroyWithTest } from '../../support/clients/agents.ts'
import type { Serve } from '../../support/clients/cli.ts'
import { makeFolder, removeFolder, startServe } from '../../support/clients/cli.ts'
import { ENGINES } from '../../support/clients/engines.ts'
import { lacks, requireProgram } from '../../support/servers/programs.ts'

const lacksCurl = lacks('curl')

let cache = ''
let serve: Serve

beforeAll(async () => {
  cache = await makeFolder()
  serve = await startServe(cache, '--verbose')
})

afterAll(async () => {
  await serve?.running.kill()
  await removeFolder(cache)
})

const WAYS = ENGINES.flatMap((engine) => [
  { engine, over: 'h2c' as const },
  { engine, over: 'TLS' as const },
])

type Way = (typeof WAYS)[number]

function toClient({ engine, over }: Way): Client {
  const client =
    over === 'h2c'
      ? new Client(serve.plain, { engine, h2c: true })
      : new Client(serve.secure, { engine, connect: { ca: serve.ca } })
  onTestFinished(() => client.destroy())
  return client
}

describe.each(WAYS)('engine $engine over $over', (way) => {
  it('/echo: gets its body back, with its type', async () => {
    const client = toClient(way)
    const sent = randomBytes(1_000_000)
    for (const method of ['POST', 'PUT', 'PROPFIND']) {
      const headers = { 'content-type': 'text/x-mine' }
      const {
        statusCode,
        headers: fields,
        body,
      } = await client.request({
        ...{ path: '/echo', method, body: sent, headers },
      })
      expect({ statusCode, type: fields['content-type'] }).toEqual({ statusCode: 200, type: 'text/x-mine' })
      expect(Buffer.from(await body.arrayBuffer()).equals(sent)).toBe(true)
    }
  })

  it('/headers: gets its header section', async () => {
    const client = toClient(way)
    const { body } = await client.request({ path: '/headers?a=b', method: 'GET', headers: { 'x-mine': 'é' } })
    expect(await body.json()).toMatchObject({
      ...{ method: 'GET', path: '/headers?a=b', httpVersion: '2.0' },
      headers: { ':path': '/headers?a=b', 'x-mine': 'é' },
    })
  })

  it('/delay, /status, /bytes: do as the path says', async () => {
    const client = toClient(way)
    const get = async (path: string, method = 'GET') => {
      const { statusCode, headers, body } = await client.request({ path, method })
      return { status: statusCode, length: headers['content-length'], size: (await body.text()).length }
    }
    expect(await get('/delay/20')).toMatchObject({ status: 200, size: 12 })
    for (const status of [201, 204, 205, 304, 418, 599]) {
      expect(await get(`/status/${status}`)).toMatchObject({ status })
    }
    expect(await get('/bytes/0')).toEqual({ status: 200, length: '0', size: 0 })
    expect(await get('/bytes/3000001')).toEqual({ status: 200, length: '3000001', size: 3_000_001 })
    expect(await get('/bytes/3000001', 'HEAD')).toEqual({ status: 200, length: '3000001', size: 0 })
    for (const path of ['/status/199', '/status/600', '/status/', '/delay/x', '/delay/600001', '/bytes/-1']) {
      expect(await get(path)).toMatchObject({ status: 400 })
    }
    for (const path of ['/bytes/1/2', '/echoes', '/headers/', '/toString', '/__proto__', '/nothing']) {
      expect(await get(path)).toMatchObject({ status: 404 })
    }
    expect(await get('/')).toMatchObject({ status: 200 })
  })

  it('/bytes: sends no more than is read, and stops when the client leaves', async () => {
    const client = toClient(way)
    const path = `/bytes/${2 ** 40}`
    const { body } = await client.request({ path, method: 'GET' })
    for await (const bytes of body) {
      expect(bytes.length).toBeGreaterThan(0)
      break
    }
    // The line of the log comes when the response is over.
    await serve.running.says(`GET ${path} 200`, WAYS.indexOf(way) + 1)
    const line = serve.running.stdout.split('\n').findLast((text) => text.includes(path)) ?? ''
    expect(Number(/(\d+) B/.exec(line)?.[1])).toBeLessThan(100_000_000)
  })

  it('/sse: gets its events, and leaves an endless stream', async () => {
    const client = toClient(way)
    const { headers, body } = await client.request({ path: '/sse?count=2&interval=1', method: 'GET' })
    expect(headers['content-type']).toBe('text/event-stream')
    const events = (await body.text()).split('\n\n')
    expect(events).toHaveLength(3)
    expect(events[1]).toMatch(/^event: tick\nid: 2\ndata: \{"id":2,"time":"[^"]+"\}$/)
    const endless = await client.request({ path: '/sse?count=0&interval=1', method: 'GET' })
    let text = ''
    for await (const bytes of endless.body) {
      text += bytes
      if (text.includes('id: 7\n')) break
    }
  })

  it('/trailers: gets trailers behind its body, and its own back', async () => {
    const client = toClient(way)
    const sent = 'a body with trailers'
    const { body, trailers } = await client.request({
      path: '/trailers',
      method: 'POST',
      body: sent,
      trailers: { 'x-mine': 'too' },
    })
    expect(await body.text()).toBe(sent)
    expect(trailers).toEqual({
      'x-mine': 'too',
      'x-body-length': `${sent.length}`,
      'x-body-sha256': createHash('sha256').update(sent).digest('hex'),
    })
  })

  it('/ws: gets its messages back over extended CONNECT', async () => {
    const { engine, over } = way
    const dispatcher = destroyWithTest(new Agent({ engine, h2c: true, connect: { ca: serve.ca } }))
    const origin = over === 'h2c' ? serve.plain : serve.secure
    const socket = new WebSocket(`${origin.replace('http', 'ws')}/ws`, { dispatcher })
    socket.binaryType = 'arraybuffer'
    const messages = ['', 'a text, ü', 'x'.repeat(300), 'y'.repeat(100_000), new Uint8Array(70_000).fill(7)]
    const received: unknown[] = []
    const closed = new Promise<{ code: number }>((resolve) => {
      socket.addEventListener('close', resolve)
      socket.addEventListener('open', () => {
        for (const message of messages) socket.send(message)
      })
      socket.addEventListener('message', ({ data }) => {
        received.push(data instanceof ArrayBuffer ? new Uint8Array(data) : data)
        if (received.length === messages.length) socket.close(4321, 'done')
      })
    })
    expect(await closed).toMatchObject({ code: 4321 })
    expect(received).toEqual(messages)
  })
})

describe('a request in the middle of which the client leaves', () => {
  it.each(ENGINES)('is the end of nothing else: engine %s', async (engine) => {
    const client = toClient({ engine, over: 'h2c' })
    const left: Promise<unknown>[] = []
    for (const path of ['/echo', '/trailers', '/delay/60000', '/sse?count=0', `/bytes/${2 ** 39}`]) {
      const controller = new AbortController()
      const body = async function* () {
        yield Buffer.from('the beginning')
        controller.abort()
      }
      left.push(
        client
          .request({ path, method: 'POST', body, signal: controller.signal })
          .then(({ body }) => body.dump()),
      )
    }
    const outcomes = await Promise.allSettled(left)
    // Some of them may have a response, and even an end, before they leave.
    expect(outcomes).toHaveLength(5)
    const { statusCode, body } = await client.request({ path: '/status/204', method: 'GET' })
    await body.dump()
    expect(statusCode).toBe(204)
  })
})

describe('a server with another name', () => {
  it.each([
    { host: 'localhost', status: 200 },
    { host: 'LOCALHOST:1', status: 200 },
    { host: 'app.localhost:12080', status: 200 },
    { host: '127.0.0.1:8080', status: 200 },
    { host: '127.9.9.9', status: 200 },
    { host: '[::1]:8080', status: 200 },
    { host: 'evil.example', status: 421 },
    { host: 'localhost.evil.example', status: 421 },
    { host: 'notlocalhost', status: 421 },
    { host: '127.0.0.1.evil.example', status: 421 },
    { host: '127.evil', status: 421 },
    { host: '192.168.0.1', status: 421 },
    { host: '0.0.0.0', status: 421 },
    { host: '', status: 421 },
  ])('$host: is served with $status', async ({ host, status }) => {
    const port = Number(new URL(serve.plain).port)
    const socket = connect(port, '127.0.0.1')
    socket.write(`GET /headers HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`)
    let text = ''
    for await (const bytes of socket) text += bytes
    expect(text.split(' ')[1]).toBe(`${status}`)
  })

  it('is not served over HTTP/2', async () => {
    const client = toClient({ engine: 'wire', over: 'h2c' })
    const headers = { host: 'evil.example' }
    const { statusCode, body } = await client.request({ path: '/headers', method: 'GET', headers })
    await body.dump()
    expect(statusCode).toBe(421)
  })
})

/** What the server sends after a handshake and these bytes, until it closes. */
async function talk(bytes: Buffer): Promise<Buffer> {
  const socket = connect(Number(new URL(serve.plain).port), '127.0.0.1')
  onTestFinished(() => void socket.destroy())
  const fields = ['connection: upgrade', 'upgrade: websocket', 'sec-websocket-version: 13']
  const key = 'sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ=='
  socket.write(`GET /ws HTTP/1.1\r\nhost: localhost\r\n${[...fields, key].join('\r\n')}\r\n\r\n`)
  socket.write(bytes)
  const parts: Buffer[] = []
  for await (const part of socket) parts.push(part)
  const all = Buffer.concat(parts)
  const head = all.indexOf('\r\n\r\n') + 4
  // RFC 6455 §1.3 has this very key.
  expect(all.toString('latin1', 0, head)).toContain('sec-websocket-accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=')
  return all.subarray(head)
}

describe('/ws over HTTP/1.1', () => {
  const MASK = [0, 0, 0, 0]
  it.each([
    {
      what: 'a ping, and a Close',
      bytes: [0x89, 0x81, ...MASK, 7, 0x88, 0x80, ...MASK],
      back: [0x8a, 1, 7, 0x88, 0],
    },
    {
      what: 'fragments',
      bytes: [0x01, 0x81, ...MASK, 65, 0x80, 0x80, ...MASK, 0x88, 0x80, ...MASK],
      back: [1, 1, 65, 0x80, 0, 0x88, 0],
    },
    { what: 'a frame without mask', bytes: [0x81, 0x01, 65], code: 1002 },
    { what: 'an unknown opcode', bytes: [0x83, 0x80, ...MASK], code: 1002 },
    { what: 'an extension', bytes: [0xc1, 0x80, ...MASK], code: 1002 },
    { what: 'a fragment of a ping', bytes: [0x09, 0x80, ...MASK], code: 1002 },
    { what: 'a ping that is too long', bytes: [0x89, 0xfe, 0, 126, ...MASK], code: 1002 },
    { what: 'a frame that is too long', bytes: [0x82, 0xff, 0, 0, 0, 0, 1, 0, 0, 1, ...MASK], code: 1009 },
  ])('$what', async ({ bytes, back, code }) => {
    const received = await talk(Buffer.from(bytes))
    if (back !== undefined) expect([...received]).toEqual(back)
    else expect([received[0], received.readUInt16BE(2)]).toEqual([0x88, code])
  })

  it('is asked for by a handshake', async () => {
    const { body, statusCode } = await toClient({ engine: 'wire', over: 'h2c' }).request({
      path: '/ws',
      method: 'GET',
    })
    await body.dump()
    expect(statusCode).toBe(400)
  })
})

describe('a handshake that is refused', () => {
  it.each([
    { what: 'another server', target: '/ws', host: 'evil.example', version: 13, status: 421 },
    { what: 'another path', target: '/echo', host: 'localhost', version: 13, status: 404 },
    { what: 'another version', target: '/ws?a', host: 'localhost', version: 8, status: 400 },
  ])('gets a $status: $what', async ({ target, host, version, status }) => {
    const socket = connect(Number(new URL(serve.plain).port), '127.0.0.1')
    const fields = ['connection: upgrade', 'upgrade: websocket', `sec-websocket-version: ${version}`]
    const head = [`GET ${target} HTTP/1.1`, `host: ${host}`, ...fields, 'sec-websocket-key: bm9uY2U=']
    socket.write(`${head.join('\r\n')}\r\n\r\n`)
    let text = ''
    for await (const bytes of socket) text += bytes
    expect(text.split(' ')[1]).toBe(`${status}`)
  })

  it.each([
    { protocol: 'websocket', path: '/ws', authority: 'evil.example', status: 421 },
    { protocol: 'websocket', path: '/echo', authority: 'localhost', status: 404 },
    { protocol: 'connect-udp', path: '/ws', authority: 'localhost', status: 501 },
  ])('gets a $status over HTTP/2: $protocol of $authority$path', async ({
    protocol,
    path,
    authority,
    status,
  }) => {
    const session = connectHttp2(serve.plain)
    onTestFinished(() => session.destroy())
    await once(session, 'remoteSettings')
    const stream = session.request({
      ...{ ':method': 'CONNECT', ':protocol': protocol, ':scheme': 'http' },
      ...{ ':path': path, ':authority': authority },
    })
    const [headers] = await once(stream, 'response')
    expect(headers[':status']).toBe(status)
  })
})

describe.skipIf(lacksCurl)('curl', () => {
  const curl = async (...args: string[]) => {
    requireProgram('curl')
    const common = ['--silent', '--show-error', '--noproxy', '*']
    const { stdout } = await promisify(execFile)('curl', [...common, ...args], { env: PROGRAM_ENV })
    return stdout
  }

  it('is served over TLS by the addresses of its certificate', async () => {
    const { port } = new URL(serve.secure)
    for (const host of ['localhost', '127.0.0.1']) {
      const url = `https://${host}:${port}/headers`
      expect(await curl('--cacert', serve.caPath, url)).toContain('"httpVersion": "2.0"')
      expect(await curl('--cacert', serve.caPath, '--http1.1', url)).toContain('"httpVersion": "1.1"')
    }
    await expect(curl(`https://localhost:${port}/headers`)).rejects.toThrow('SSL certificate problem')
  })

  it('is served without TLS, over HTTP/2 and HTTP/1.1', async () => {
    expect(await curl('--http2-prior-knowledge', '-d', 'both', `${serve.plain}/echo`)).toBe('both')
    expect(await curl('-d', 'both', `${serve.plain}/echo`)).toBe('both')
    expect(await curl('--raw', '-d', 'both', `${serve.plain}/trailers`)).toContain('x-body-length: 4')
  })
})
