/**
 * A signal that fires while a fetch is served by HTTP/1.1. The server is in a process of its own: the clients here
 * abort.
 */

import { spawn } from 'node:child_process'
import { getEventListeners, once } from 'node:events'
import { createInterface } from 'node:readline'
import { describe, expect, it, onTestFinished } from 'vitest'
import { fetch } from '../../../src/index.ts'
import type { FetchInit } from '../../../types/index.ts'
import { toAgent } from '../../support/clients/agents.ts'
import { defer, toReason, toStream } from './body-support-rig.ts'

/** The server writes its events: `port …`, `seen /path`, `closed /path`. */
const SERVER = `
const server = require('node:http').createServer((request, response) => {
  const say = (word) => console.log(word + ' ' + request.url)
  response.on('close', () => say('closed'))
  request.on('error', () => {})
  request.resume()
  say('seen')
  if (request.url === '/open') response.write('begun')
  if (request.url === '/whole') response.end('whole')
})
server.listen(0, '127.0.0.1', () => console.log('port ' + server.address().port))
`

interface Scene {
  get(path: string, init?: FetchInit): Promise<Response>
  /** Settles when the server has written this line. */
  heard(words: string): Promise<void>
}

async function start(): Promise<Scene> {
  const server = spawn(process.execPath, ['-e', SERVER], { stdio: ['ignore', 'pipe', 'inherit'] })
  const lines: string[] = []
  const said = createInterface(server.stdout).on('line', (line) => lines.push(line))
  const closed = once(server, 'close')
  onTestFinished(async () => {
    server.kill('SIGKILL')
    await closed
  })
  const heard = async (words: string): Promise<void> => {
    while (!lines.some((line) => line.startsWith(words))) await once(said, 'line')
  }
  await heard('port')
  const origin = `http://127.0.0.1:${lines[0]?.slice(5)}`
  const dispatcher = toAgent({ h2c: false })
  return { get: (path, init = {}) => fetch(`${origin}${path}`, { dispatcher, ...init }), heard }
}

describe.each([
  ['an Error', new Error('enough')],
  ['a string', 'enough'],
  ['null', null],
])('when a signal fires with %s, over HTTP/1.1', (_what, reason) => {
  it('while the response is waited for: the connection is closed', async () => {
    const { get, heard } = await start()
    const controller = new AbortController()
    const fetched = toReason(get('/headless', { signal: controller.signal }))
    await heard('seen /headless')
    controller.abort(reason)
    expect(await fetched).toBe(reason)
    await heard('closed /headless')
    expect(getEventListeners(controller.signal, 'abort')).toEqual([])
    expect(await (await get('/whole')).text()).toBe('whole')
  })

  it('while the request body is sent: it is cancelled with the reason', async () => {
    const { get, heard } = await start()
    const controller = new AbortController()
    const cancelled = defer()
    let given: unknown = 'nothing'
    const body = new ReadableStream<Uint8Array>({
      pull: (stream) => stream.enqueue(new Uint8Array(100_000)),
      cancel(value) {
        given = value
        cancelled.resolve()
      },
    })
    const { signal } = controller
    const fetched = toReason(get('/headless', { method: 'POST', body, duplex: 'half', signal }))
    await heard('seen /headless')
    controller.abort(reason)
    expect(await fetched).toBe(reason)
    await cancelled.promise
    expect(given).toBe(reason)
    await heard('closed /headless')
  })

  it('while the body is not read: the next read fails', async () => {
    const { get, heard } = await start()
    const controller = new AbortController()
    const response = await get('/open', { signal: controller.signal })
    controller.abort(reason)
    expect(await toReason(response.text())).toBe(reason)
    await heard('closed /open')
  })

  it('while it is read: the read fails', async () => {
    const { get, heard } = await start()
    const controller = new AbortController()
    const reader = toStream(await get('/open', { signal: controller.signal })).getReader()
    await reader.read()
    const read = toReason(reader.read())
    controller.abort(reason)
    expect(await read).toBe(reason)
    await heard('closed /open')
    expect(getEventListeners(controller.signal, 'abort')).toEqual([])
  })

  it('after all bytes came, unread: the next read fails', async () => {
    const { get, heard } = await start()
    const controller = new AbortController()
    const response = await get('/whole', { signal: controller.signal })
    await heard('closed /whole')
    controller.abort(reason)
    expect(await toReason(response.text())).toBe(reason)
    expect(await (await get('/whole')).text()).toBe('whole')
  })
})
