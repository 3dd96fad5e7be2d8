import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { request } from 'node:http'
import { text } from 'node:stream/consumers'
import replyFrom from '@fastify/reply-from'
import fastify from 'fastify'
import { describe, expect, it, onTestFinished } from 'vitest'
import { Pool } from '../../src/index.ts'
import type { EarlyRoute } from '../support/servers/early-server.ts'
import { EARLY_ROUTES, TEXT, toPath } from '../support/servers/early-server.ts'

const CLIENTS = 5
/** Bytes. */
const SENT = 131_072

/** Starts a proxy, whose requests to its upstream go through a Pool of ours. @returns its origin */
async function startProxy({ options, start }: EarlyRoute): Promise<string> {
  const base = await start()
  const pool = new Pool(base, options)
  const app = fastify()
  onTestFinished(async () => {
    await app.close()
    await pool.destroy()
  })
  app.addContentTypeParser('*', (_request, body, done) => done(null, body))
  await app.register(replyFrom, { base, undici: pool as unknown as object })
  app.post('/*', (_request, reply) => void reply.from())
  return app.listen({ port: 0, host: '127.0.0.1' })
}

/**
 * Sends more than the upstream reads, and waits for the response within its request: the proxy closes the connection
 * then, and a write after that would fail before the response is read.
 *
 * @returns its status, and its text where that is the upstream's
 */
async function upload(url: string): Promise<string> {
  const headers = { 'content-type': 'application/octet-stream' }
  const sending = request(url, { method: 'POST', agent: false, headers })
  sending.write(Buffer.alloc(SENT))
  const [response] = (await once(sending, 'response')) as [IncomingMessage]
  const body = await text(response)
  sending.on('error', () => {}).destroy()
  return response.statusCode === 413 ? `413 ${body}` : String(response.statusCode)
}

describe.each(EARLY_ROUTES)('@fastify/reply-from over $name', (upstream) => {
  // A response that breaks off can't be answered by another one.
  const endings = upstream.endings.filter(({ name }) => !name.endsWith('within the response'))

  it.each(
    endings,
  )('when the upstream ends an upload by $name › each client gets a response', async (ending) => {
    const origin = await startProxy(upstream)
    const outcomes: string[] = []
    while (outcomes.length < CLIENTS) outcomes.push(await upload(`${origin}${toPath('within', ending)}`))
    expect(outcomes).toEqual(outcomes.map(() => (ending.isResponse ? `413 ${TEXT}` : '500')))
  })
})
