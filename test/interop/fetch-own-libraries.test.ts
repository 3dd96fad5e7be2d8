/** Libraries that others wrote, given our own fetch: one real exchange of each, over HTTP/2. */

import { createRequire } from 'node:module'
import Anthropic from '@anthropic-ai/sdk'
import { REST } from '@discordjs/rest'
import { request } from '@octokit/request'
import ky from 'ky'
import OpenAI from 'openai'
import { describe, expect, it, onTestFinished } from 'vitest'
import { Agent, fetch, getGlobalDispatcher, setGlobalDispatcher } from '../../src/index.ts'
import type { Respond, WebServer } from './interceptors-server.ts'
import { send, startWebServer } from './interceptors-server.ts'
import {
  CLAUDE_EVENTS,
  CLAUDE_MESSAGE,
  GPT_CHUNKS,
  GPT_COMPLETION,
  toEventStream,
} from './libraries-responses.ts'

type Ofetch = (url: string, options?: object) => Promise<unknown>

/** Loaded without its types: they need those of a browser. */
const { createFetch }: { createFetch(options: object): Ofetch } = createRequire(import.meta.url)('ofetch')

function json(value: object, status = 200): Respond {
  return (_exchange, reply) =>
    send(reply, status, { 'content-type': 'application/json' }, JSON.stringify(value))
}

/** Events in pieces of their own. */
function events(text: readonly string[]): Respond {
  return (_exchange, reply) => {
    reply.setHeader('content-type', 'text/event-stream')
    for (const event of text) reply.write(event)
    reply.end()
  }
}

/** A server that our fetch trusts, without being told of a dispatcher. */
async function start(respond: Respond): Promise<WebServer> {
  const server = await startWebServer(respond)
  const agent = new Agent({ connect: { ca: server.ca } })
  const before = getGlobalDispatcher()
  setGlobalDispatcher(agent)
  onTestFinished(async () => {
    setGlobalDispatcher(before)
    await agent.destroy()
  })
  return server
}

/** What came, each over HTTP/2. */
function toLines({ exchanges }: WebServer): string[] {
  return exchanges.map(({ version, method, path, body }) => `${version} ${method} ${path} ${body}`)
}

describe('openai', () => {
  const asked = { model: 'gpt', messages: [{ role: 'user' as const, content: 'Hello?' }] }

  function toClient(server: WebServer, maxRetries = 0): OpenAI {
    return new OpenAI({ apiKey: 'key', baseURL: `${server.origin}/v1`, maxRetries, fetch })
  }

  it('gets a completion', async () => {
    const server = await start(json(GPT_COMPLETION))
    const { choices } = await toClient(server).chat.completions.create(asked)
    expect(choices[0]?.message.content).toBe('Hello.')
    expect(toLines(server)).toEqual([`2.0 POST /v1/chat/completions ${JSON.stringify(asked)}`])
    expect(server.exchanges[0]?.headers).toMatchObject({ authorization: 'Bearer key' })
  })

  it('gets a completion as a stream of events', async () => {
    const server = await start(events(toEventStream(GPT_CHUNKS, { ends: true })))
    const stream = await toClient(server).chat.completions.create({ ...asked, stream: true })
    const parts: string[] = []
    for await (const { choices } of stream) parts.push(choices[0]?.delta.content ?? '')
    expect(parts).toEqual(['Hel', 'lo.'])
  })

  it('stops reading a stream of events, which ends it', async () => {
    let tell = (): void => {}
    const ended = new Promise<void>((resolve) => {
      tell = resolve
    })
    const server = await start((_exchange, reply) => {
      const { stream }: { stream: { once(event: 'close', listener: () => void): void } } = Object(reply)
      stream.once('close', tell)
      reply.setHeader('content-type', 'text/event-stream')
      for (const event of toEventStream(GPT_CHUNKS)) reply.write(event)
    })
    const stream = await toClient(server).chat.completions.create({ ...asked, stream: true })
    for await (const { choices } of stream) {
      expect(choices[0]?.delta.content).toBe('Hel')
      break
    }
    await ended
  })

  it('uploads a file as a form', async () => {
    const server = await start(json({ id: 'file-1', object: 'file' }))
    const file = new File(['{"a":1}'], 'lines.jsonl')
    const { id } = await toClient(server).files.create({ file, purpose: 'batch' })
    expect(id).toBe('file-1')
    expect(toLines(server)[0]).toMatch(/^2\.0 POST \/v1\/files --.*filename="lines\.jsonl".*\{"a":1\}/s)
  })

  it('gets an error of the API, and retries a temporary one', async () => {
    let count = 0
    const server = await start((exchange, reply) => {
      const retry = { 'content-type': 'application/json', 'retry-after-ms': '1' }
      if (++count === 1) send(reply, 500, retry, '{}')
      else json({ error: { message: 'No such model', code: 'none' } }, 404)(exchange, reply)
    })
    const call = toClient(server, 1).chat.completions.create(asked)
    await expect(call).rejects.toMatchObject({ status: 404, code: 'none' })
    expect(server.exchanges).toHaveLength(2)
  })
})

describe('@anthropic-ai/sdk', () => {
  const asked = { model: 'claude', max_tokens: 10, messages: [{ role: 'user' as const, content: 'Hello?' }] }

  function toClient(server: WebServer): Anthropic {
    return new Anthropic({ apiKey: 'key', baseURL: server.origin, maxRetries: 0, fetch })
  }

  it('gets a message', async () => {
    const server = await start(json(CLAUDE_MESSAGE))
    const { content } = await toClient(server).messages.create(asked)
    expect(content).toEqual([{ type: 'text', text: 'Hello.' }])
    expect(toLines(server)).toEqual([`2.0 POST /v1/messages ${JSON.stringify(asked)}`])
  })

  it('gets a message as a stream of events', async () => {
    const server = await start(events(toEventStream(CLAUDE_EVENTS)))
    expect(await toClient(server).messages.stream(asked).finalText()).toBe('Hello.')
    expect(toLines(server)).toEqual([`2.0 POST /v1/messages ${JSON.stringify({ ...asked, stream: true })}`])
  })
})

describe('ky', () => {
  it('posts JSON, and gets JSON', async () => {
    const server = await start(json({ made: true }, 201))
    const options = { json: { name: 'x' }, searchParams: { a: '1' }, fetch }
    expect(await ky.post(`${server.origin}/things`, options).json()).toEqual({ made: true })
    expect(toLines(server)).toEqual(['2.0 POST /things?a=1 {"name":"x"}'])
  })

  it('retries a temporary error, with the body', async () => {
    let count = 0
    const server = await start((exchange, reply) => {
      if (++count === 1) send(reply, 503, { 'retry-after': '0' })
      else json({ made: true })(exchange, reply)
    })
    const options = { json: { name: 'x' }, retry: { limit: 1, backoffLimit: 1 }, fetch }
    expect(await ky.put(`${server.origin}/things`, options).json()).toEqual({ made: true })
    expect(toLines(server)).toEqual(Array(2).fill('2.0 PUT /things {"name":"x"}'))
  })

  it('reports the progress of a download, and calls its hooks', async () => {
    const server = await start(json({ text: 'x'.repeat(100_000) }))
    const seen: unknown[] = []
    const options = {
      fetch,
      onDownloadProgress: ({ percent }: { percent: number }) => seen.push(percent),
      hooks: { afterResponse: [(...[state]: unknown[]) => void seen.push(typeof state)] },
    }
    const { text } = await ky.get<{ text: string }>(server.origin, options).json()
    expect(text).toHaveLength(100_000)
    expect(seen.length).toBeGreaterThan(1)
  })
})

describe('ofetch', () => {
  it('posts JSON, and gets JSON', async () => {
    const server = await start(json({ made: true }, 201))
    const ofetch = createFetch({ fetch, Headers, AbortController })
    const options = { method: 'POST', body: { name: 'x' }, query: { a: 1 } }
    expect(await ofetch(`${server.origin}/things`, options)).toEqual({ made: true })
    expect(toLines(server)).toEqual(['2.0 POST /things?a=1 {"name":"x"}'])
  })

  it('gets an error of the API', async () => {
    const server = await start(json({ why: 'x' }, 422))
    const ofetch = createFetch({ fetch, Headers, AbortController })
    await expect(ofetch(server.origin, { retry: 0 })).rejects.toMatchObject({
      status: 422,
      data: { why: 'x' },
    })
  })
})

// What it makes a request with is to be given whole; its own is `request()` of undici.
describe('@discordjs/rest', () => {
  it('posts a message, and gets it', async () => {
    const server = await start(json({ id: '1', content: 'Hello.' }))
    const makeRequest = (url: string, init: object) => fetch(url, { ...init, dispatcher: null })
    const rest = new REST({ api: `${server.origin}/api`, makeRequest }).setToken('token')
    onTestFinished(() => {
      rest.clearHashSweeper()
      rest.clearHandlerSweeper()
    })
    const body = { content: 'Hello.' }
    expect(await rest.post('/channels/2/messages', { body })).toEqual({ id: '1', content: 'Hello.' })
    expect(toLines(server)).toEqual(['2.0 POST /api/v10/channels/2/messages {"content":"Hello."}'])
  })
})

describe('@octokit/request', () => {
  it('makes an issue', async () => {
    const server = await start(json({ number: 1 }, 201))
    const options = { baseUrl: server.origin, owner: 'x', repo: 'y', title: 'Hello', request: { fetch } }
    const response = await request('POST /repos/{owner}/{repo}/issues', options)
    expect([response.status, response.data]).toEqual([201, { number: 1 }])
    expect(toLines(server)).toEqual(['2.0 POST /repos/x/y/issues {"title":"Hello"}'])
  })

  it('gets an error of the API', async () => {
    const server = await start(json({ message: 'No such user' }, 404))
    const call = request('GET /users/x', { baseUrl: server.origin, request: { fetch } })
    await expect(call).rejects.toMatchObject({ status: 404, response: { data: { message: 'No such user' } } })
  })
})
