/** The stack of an error that a response's reader gets: it leads to the code that awaits. */

import type { ServerHttp2Stream } from 'node:http2'
import { PassThrough } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { Client, fetch, UpstreamPool } from '../../src/index.ts'
import type { Dispatcher, ResponseData } from '../../types/index.ts'
import { destroyWithTest, startClient, toAgent } from '../support/clients/agents.ts'
import { startHttp1 } from '../support/servers/fallback-http1.ts'

/** Where no frame may be. */
const SOURCES = fileURLToPath(new URL('../../src/', import.meta.url))

type Body = ResponseData['body']

/** A part of a body comes, and the rest never does. */
function cut(stream: ServerHttp2Stream): void {
  stream.on('error', () => {})
  stream.respond({ ':status': 200, 'content-type': 'multipart/form-data; boundary=x' })
  stream.write('part', () => stream.destroy(new Error('the rest never comes')))
}

function sendHtml(stream: ServerHttp2Stream): void {
  stream.respond({ ':status': 200, 'content-type': 'text/html' })
  stream.write('<p>no ')
  setImmediate(() => stream.end('JSON</p>'))
}

async function readPieces(pieces: AsyncIterable<unknown>): Promise<void> {
  for await (const _piece of pieces);
}

const READS: Readonly<Record<string, (body: Body) => Promise<unknown>>> = {
  'text()': (body) => body.text(),
  'text() after setEncoding()': (body) => body.setEncoding('utf8').text(),
  'json()': (body) => body.json(),
  'bytes()': (body) => body.bytes(),
  'arrayBuffer()': (body) => body.arrayBuffer(),
  'blob()': (body) => body.blob(),
  'formData()': (body) => body.formData(),
  'for await': readPieces,
  'toArray()': (body) => body.toArray(),
  'buffer() of node:stream/consumers': buffer,
}

/** Waits for what a function of a caller awaits. @returns the stack of the error */
async function fail(start: () => Promise<unknown>): Promise<string> {
  async function placeOrder(): Promise<unknown> {
    return await start()
  }
  const error: unknown = await placeOrder().then(
    () => null,
    (reason) => reason,
  )
  if (!(error instanceof Error)) throw new Error('It has not failed')
  return String(error.stack)
}

function expectCaller(stack: string): void {
  // The stacks of vitest leave "async" out.
  expect(stack).toMatch(/^ {4}at (async )?placeOrder /m)
  expect(stack).not.toContain(SOURCES)
}

const request = async (dispatcher: Dispatcher): Promise<Body> =>
  (await dispatcher.request({ path: '/', method: 'GET' })).body

/** Ways to a response whose body is cut. */
const WAYS: Readonly<Record<string, () => Promise<Body>>> = {
  'of a Client': async () => request((await startClient(cut)).client),
  'of an UpstreamPool': async () => {
    const { server } = await startClient(cut)
    return request(destroyWithTest(new UpstreamPool([server.origin])))
  },
  'of the fallback': async () => {
    const { origin } = await startHttp1(
      (_request, response) => {
        response.writeHead(200, { 'content-type': 'multipart/form-data; boundary=x', 'content-length': 9 })
        response.write('part', () => response.destroy())
      },
      { tls: false },
    )
    return request(destroyWithTest(new Client(origin, { allowH2: false })))
  },
}

describe.each(Object.entries(WAYS))('the body of a response %s, cut short', (_way, ask) => {
  it.each(Object.entries(READS))('when %s reads it › leads to the caller', async (_read, read) => {
    expectCaller(await fail(async () => read(await ask())))
  })

  it.each(
    Object.entries(READS),
  )('when %s begins after the end › leads to the caller', async (_read, read) => {
    const body = await ask()
    await new Promise((resolve) => {
      body.on('error', resolve).resume()
    })
    expectCaller(await fail(() => read(body)))
  })
})

describe('a body that is no JSON', () => {
  it.each([
    ['while it comes', false],
    ['once it has come', true],
  ])('when json() is called %s › leads to the caller', async (_when, waits) => {
    const { client } = await startClient(sendHtml)
    const body = await request(client)
    if (waits) await expect.poll(() => client.stats.running).toBe(0)
    const stack = await fail(() => body.json())
    // The stacks of vitest leave "async" out.
    expect(stack).toMatch(/^SyntaxError: The response body from "\/" isn't JSON/)
    expectCaller(stack)
  })

  it('when json() is one of fetch() › leads to the caller', async () => {
    const { server } = await startClient(sendHtml)
    const dispatcher = toAgent({})
    expectCaller(await fail(async () => (await fetch(server.origin, { dispatcher })).json()))
  })
})

describe('the Response of fetch(), cut short', () => {
  it.each([
    'text',
    'json',
    'bytes',
    'arrayBuffer',
    'blob',
    'formData',
  ] as const)('when %s() reads it › leads to the caller', async (read) => {
    const { server } = await startClient(cut)
    const dispatcher = toAgent({})
    expectCaller(await fail(async () => (await fetch(server.origin, { dispatcher }))[read]()))
  })
})

describe('the duplex of pipeline()', () => {
  it('when a loop reads it › leads to the caller', async () => {
    const { client } = await startClient(cut)
    const duplex = client.pipeline({ path: '/', method: 'POST' }, ({ body }) => body).end('x')
    expectCaller(await fail(() => readPieces(duplex)))
  })
})

describe('stream()', () => {
  it('when the response is cut short › leads to the caller', async () => {
    const { client } = await startClient(cut)
    const options = { path: '/', method: 'GET' }
    expectCaller(await fail(() => client.stream(options, () => new PassThrough().resume())))
  })
})

describe('a loop over a body', () => {
  const endless = (stream: ServerHttp2Stream): void => {
    stream.on('error', () => {})
    stream.respond({ ':status': 200 })
    stream.write('first')
  }

  it('when the loop throws › gives its own error', async () => {
    const { client } = await startClient(endless)
    const body = await request(client)
    const own = new Error('of the loop')
    const reading = (async () => {
      for await (const _piece of body) throw own
    })()
    await expect(reading).rejects.toBe(own)
    expect(body.destroyed).toBe(true)
  })

  it('when the signal fires › gives the reason as it is, with its own stack', async () => {
    const { client } = await startClient(endless)
    const controller = new AbortController()
    const { body } = await client.request({ path: '/', method: 'GET', signal: controller.signal })
    const reason = new Error('enough')
    const { stack } = reason
    const reading = (async () => {
      for await (const _piece of body) controller.abort(reason)
    })()
    await expect(reading).rejects.toBe(reason)
    expect(reason.stack).toBe(stack)
  })
})
