/** Libraries that others wrote, and that take a dispatcher: one real exchange of each, over HTTP/2. */

import { createRequire } from 'node:module'
import Anthropic from '@anthropic-ai/sdk'
import { REST } from '@discordjs/rest'
import { request } from '@octokit/request'
import ky from 'ky'
import OpenAI from 'openai'
import { describe, expect, it, onTestFinished } from 'vitest'
import { Agent } from '../../src/index.ts'
import { destroyWithTest } from '../support/clients/agents.ts'
import type { Respond, WebServer } from './interceptors-server.ts'
import { send, startWebServer } from './interceptors-server.ts'
import {
  CLAUDE_EVENTS,
  CLAUDE_MESSAGE,
  GPT_CHUNKS,
  GPT_COMPLETION,
  toEventStream,
} from './libraries-responses.ts'

/** Loaded without its types: they need those of a browser. */
const { ofetch }: { ofetch(url: string, options: object): Promise<unknown> } = createRequire(import.meta.url)(
  'ofetch',
)

function json(value: object, status = 200): Respond {
  return (_exchange, reply) =>
    send(reply, status, { 'content-type': 'application/json' }, JSON.stringify(value))
}

/** Events in pieces of their own, each as soon as the one before was handed over. */
function events(text: readonly string[]): Respond {
  return (_exchange, reply) => {
    reply.setHeader('content-type', 'text/event-stream')
    for (const event of text) reply.write(event)
    reply.end()
  }
}

function toAgent({ ca }: WebServer): Agent {
  const agent = destroyWithTest(new Agent({ connect: { ca } }))
  return agent
}

/** The one exchange that there was. */
function toExchange({ exchanges }: WebServer) {
  expect(exchanges).toHaveLength(1)
  const [{ version, method, path, headers, body } = { headers: {}, body: '' }] = exchanges
  return { version, line: `${method} ${path}`, headers, body: body === '' ? null : JSON.parse(body) }
}

describe('openai', () => {
  const asked = { model: 'gpt', messages: [{ role: 'user' as const, content: 'Hello?' }] }

  function toClient(server: WebServer): OpenAI {
    const fetchOptions = { dispatcher: toAgent(server) }
    return new OpenAI({ apiKey: 'key', baseURL: `${server.origin}/v1`, maxRetries: 0, fetchOptions })
  }

  it('gets a completion', async () => {
    const server = await startWebServer(json(GPT_COMPLETION))
    const { choices } = await toClient(server).chat.completions.create(asked)
    expect(choices[0]?.message.content).toBe('Hello.')
    expect(toExchange(server)).toMatchObject({
      version: '2.0',
      line: 'POST /v1/chat/completions',
      headers: { authorization: 'Bearer key', 'content-type': 'application/json' },
      body: asked,
    })
  })

  it('gets a completion as a stream of events', async () => {
    const server = await startWebServer(events(toEventStream(GPT_CHUNKS, { ends: true })))
    const stream = await toClient(server).chat.completions.create({ ...asked, stream: true })
    const parts: string[] = []
    for await (const { choices } of stream) parts.push(choices[0]?.delta.content ?? '')
    expect(parts).toEqual(['Hel', 'lo.'])
    expect(toExchange(server)).toMatchObject({ version: '2.0', body: { ...asked, stream: true } })
  })

  it('gets an error of the API', async () => {
    const server = await startWebServer(json({ error: { message: 'No such model', code: 'none' } }, 404))
    const call = toClient(server).chat.completions.create(asked)
    await expect(call).rejects.toMatchObject({ status: 404, code: 'none' })
  })
})

describe('@anthropic-ai/sdk', () => {
  const asked = { model: 'claude', max_tokens: 10, messages: [{ role: 'user' as const, content: 'Hello?' }] }

  function toClient(server: WebServer): Anthropic {
    const fetchOptions = { dispatcher: toAgent(server) }
    return new Anthropic({ apiKey: 'key', baseURL: server.origin, maxRetries: 0, fetchOptions })
  }

  it('gets a message', async () => {
    const server = await startWebServer(json(CLAUDE_MESSAGE))
    const { content } = await toClient(server).messages.create(asked)
    expect(content).toEqual([{ type: 'text', text: 'Hello.' }])
    expect(toExchange(server)).toMatchObject({
      version: '2.0',
      line: 'POST /v1/messages',
      headers: { authorization: 'Bearer key', 'content-type': 'application/json' },
      body: asked,
    })
  })

  it('gets a message as a stream of events', async () => {
    const server = await startWebServer(events(toEventStream(CLAUDE_EVENTS)))
    const stream = toClient(server).messages.stream(asked)
    expect(await stream.finalText()).toBe('Hello.')
    expect(toExchange(server)).toMatchObject({ version: '2.0', body: { ...asked, stream: true } })
  })
})

describe('ky', () => {
  it('posts JSON, and gets JSON', async () => {
    const server = await startWebServer(json({ made: true }, 201))
    const dispatcher = toAgent(server)
    const options = { json: { name: 'x' }, searchParams: { a: '1' }, dispatcher }
    expect(await ky.post(`${server.origin}/things`, options).json()).toEqual({ made: true })
    expect(toExchange(server)).toMatchObject({
      version: '2.0',
      line: 'POST /things?a=1',
      headers: { 'content-type': 'application/json' },
      body: { name: 'x' },
    })
  })
})

describe('ofetch', () => {
  it('posts JSON, and gets JSON', async () => {
    const server = await startWebServer(json({ made: true }, 201))
    const options = { method: 'POST', body: { name: 'x' }, query: { a: 1 }, dispatcher: toAgent(server) }
    expect(await ofetch(`${server.origin}/things`, options)).toEqual({ made: true })
    expect(toExchange(server)).toMatchObject({
      version: '2.0',
      line: 'POST /things?a=1',
      headers: { 'content-type': 'application/json' },
      body: { name: 'x' },
    })
  })
})

// It hands the dispatcher to `request()` of undici 6, its own dependency.
describe('@discordjs/rest', () => {
  it('posts a message, and gets it', async () => {
    const server = await startWebServer(json({ id: '1', content: 'Hello.' }))
    const rest = new REST({ api: `${server.origin}/api`, agent: toAgent(server) }).setToken('token')
    onTestFinished(() => {
      rest.clearHashSweeper()
      rest.clearHandlerSweeper()
    })
    const body = { content: 'Hello.' }
    expect(await rest.post('/channels/2/messages', { body })).toEqual({ id: '1', content: 'Hello.' })
    expect(toExchange(server)).toMatchObject({
      version: '2.0',
      line: 'POST /api/v10/channels/2/messages',
      headers: { authorization: 'Bot token', 'content-type': 'application/json' },
      body,
    })
  })
})

describe('@octokit/request', () => {
  it('makes an issue', async () => {
    const server = await startWebServer(json({ number: 1 }, 201))
    const dispatcher = toAgent(server)
    const response = await request('POST /repos/{owner}/{repo}/issues', {
      baseUrl: server.origin,
      owner: 'x',
      repo: 'y',
      title: 'Hello',
      request: { fetch: (url: string, init: RequestInit) => fetch(url, { ...init, dispatcher }) },
    })
    expect([response.status, response.data]).toEqual([201, { number: 1 }])
    expect(toExchange(server)).toMatchObject({
      version: '2.0',
      line: 'POST /repos/x/y/issues',
      headers: { accept: 'application/vnd.github.v3+json' },
      body: { title: 'Hello' },
    })
  })
})
