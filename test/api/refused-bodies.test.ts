/** What becomes of a body whose call is refused before it begins: each scene is played on undici, too. */

import { createReadStream } from 'node:fs'
import { createServer } from 'node:http'
import { PassThrough, Readable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import * as theirs from 'undici'
import { describe, expect, it, onTestFinished } from 'vitest'
import * as ours from '../../src/index.ts'
import { listen } from '../support/servers/listen.ts'

/** The part of both libraries' Client that the scenes use: they pass what the types forbid. */
interface Sender {
  request(options: object, callback?: unknown): unknown
  stream(options: object, factory: unknown, callback?: unknown): unknown
  close(): Promise<unknown>
  destroy(): Promise<unknown>
}

type ClientClass = new (origin: string) => Sender

const ORIGIN = 'http://localhost:1'
const POST = { path: '/', method: 'POST' }

/** Settles with the code of the error, whether it was thrown, or rejects the promise. */
async function toCode(call: () => unknown): Promise<unknown> {
  try {
    await call()
    return 'none'
  } catch (error) {
    return Reflect.get(error as Error, 'code')
  }
}

type Scene = (client: Sender, body: unknown) => unknown

const SCENES: readonly (readonly [what: string, play: Scene])[] = [
  ['request(): a callback that is none', (client, body) => client.request({ ...POST, body }, null)],
  ['request(): a string as the callback', (client, body) => client.request({ ...POST, body }, 'done')],
  ['request(): a signal that is none', (client, body) => client.request({ ...POST, body, signal: {} })],
  ['request(): a bad highWaterMark', (client, body) => client.request({ ...POST, body, highWaterMark: -1 })],
  ['request(): a bad onInfo', (client, body) => client.request({ ...POST, body, onInfo: 1 })],
  ['request(): CONNECT', (client, body) => client.request({ ...POST, body, method: 'CONNECT' })],
  ['request(): a bad path', (client, body) => client.request({ ...POST, body, path: '/a b' })],
  ['request(): a bad field', (client, body) => client.request({ ...POST, body, headers: { 'a b': 'c' } })],
  [
    'request(): bad options and a callback',
    (client, body) =>
      new Promise((resolve, reject) => {
        const settle = (error: Error | null) => (error === null ? resolve(null) : reject(error))
        client.request({ ...POST, body, signal: {} }, settle)
      }),
  ],
  [
    'request(): a client that was closed',
    (client, body) => {
      void client.close()
      return client.request({ ...POST, body })
    },
  ],
  [
    'request(): a client that was destroyed',
    (client, body) => {
      void client.destroy()
      return client.request({ ...POST, body })
    },
  ],
  ['stream(): a factory that is none', (client, body) => client.stream({ ...POST, body }, null)],
  [
    'stream(): a callback that is none',
    (client, body) => client.stream({ ...POST, body }, () => new PassThrough(), null),
  ],
  ['stream(): CONNECT', (client, body) => client.stream({ ...POST, body, method: 'CONNECT' }, () => {})],
]

describe.each(SCENES)('%s', (_what, play) => {
  async function run(Client: ClientClass) {
    const client = new Client(ORIGIN)
    onTestFinished(() => client.destroy().then(() => {}))
    let error: unknown = null
    const body = new Readable({ read() {} }).on('error', (thrown) => {
      error = thrown
    })
    const code = await toCode(() => play(client, body))
    await setImmediate()
    return { isRefused: code !== 'none', destroyed: body.destroyed, hasItsError: toErrorCode(error) === code }
  }

  it('destroys a Readable with the error, as undici does', async () => {
    const outcome = await run(ours.Client as unknown as ClientClass)
    expect(outcome).toEqual({ isRefused: true, destroyed: true, hasItsError: true })
    expect(outcome).toEqual(await run(theirs.Client as unknown as ClientClass))
  })

  it('closes a file', async () => {
    const client = new ours.Client(ORIGIN) as unknown as Sender
    onTestFinished(() => client.destroy().then(() => {}))
    const body = createReadStream(new URL(import.meta.url))
    const closed = new Promise((resolve) => body.once('close', resolve))
    await toCode(() => play(client, body))
    await closed
    expect(body.destroyed).toBe(true)
  })

  it('cancels a web stream', async () => {
    const client = new ours.Client(ORIGIN) as unknown as Sender
    onTestFinished(() => client.destroy().then(() => {}))
    let reason: unknown = null
    const body = new ReadableStream({
      cancel(given) {
        reason = given
      },
    })
    const code = await toCode(() => play(client, body))
    await setImmediate()
    expect(toErrorCode(reason)).toBe(code)
  })

  it('leaves alone what somebody reads, and what holds nothing', async () => {
    const client = new ours.Client(ORIGIN) as unknown as Sender
    onTestFinished(() => client.destroy().then(() => {}))
    const read = Readable.from(['a', 'b'])
    const reader = read[Symbol.asyncIterator]()
    await reader.next()
    for (const body of [read, 'text', Buffer.from('bytes'), null, 5]) await toCode(() => play(client, body))
    expect(read.destroyed).toBe(false)
    expect(await reader.next()).toEqual({ done: false, value: 'b' })
  })
})

it('leaves a request that a server has received: its response can be written', async () => {
  const server = createServer((request, response) => {
    const client = new ours.Client(ORIGIN) as unknown as Sender
    void client.destroy()
    void toCode(() => client.request({ ...POST, body: request })).then((code) => response.end(String(code)))
  })
  const { port } = await listen(server)
  const response = await fetch(`http://127.0.0.1:${port}`, { method: 'POST', body: 'text' })
  expect(await response.text()).toBe('UND_ERR_DESTROYED')
})

function toErrorCode(error: unknown): unknown {
  return typeof error === 'object' && error !== null ? Reflect.get(error, 'code') : null
}
