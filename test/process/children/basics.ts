/** Calls of every API that must work in every environment: under fake timers, and in other realms. */

import { once } from 'node:events'
import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import { Agent, Client, fetch } from '../../../src/index.ts'
import type { ClientOptions } from '../../../types/index.ts'

/** The value of `runBasics()` when everything works. */
export const BASICS = {
  request: 'GET /',
  upload: 'POST / sent',
  stream: 'GET /',
  pipeline: 'POST / piped',
  fetch: 'POST / fetched',
  refused: 'GET /refused',
  refusedInput: 'InvalidArgumentError',
  late: 'HeadersTimeoutError',
  aborted: 'mine',
  afterAbort: 'GET /',
  timedOut: 'TimeoutError',
  closed: 'ClientDestroyedError',
  destroyed: 'ClientDestroyedError',
}

const GET = { path: '/', method: 'GET' } as const
const POST = { path: '/', method: 'POST' } as const
const HANG = { path: '/hang', method: 'GET' } as const

/**
 * Uses each API once.
 *
 * @param origin a server that responds `METHOD path body`; but nothing at `/hang`, and at `/refused` by REFUSED_STREAM
 *   the first time on each connection
 */
export async function runBasics(
  origin: string,
  engine: ClientOptions['engine'],
): Promise<Record<keyof typeof BASICS, string>> {
  const client = new Client(origin, { engine })
  const request = await (await client.request(GET)).body.text()
  const upload = await (await client.request({ ...POST, body: 'sent' })).body.text()
  const into = new PassThrough()
  const streamed = text(into)
  await client.stream(GET, () => into)
  const duplex = client.pipeline(POST, ({ body }) => body)
  duplex.end('piped')
  const agent = new Agent({ engine, h2c: true })
  const fetched = await fetch(origin, { method: 'POST', body: 'fetched', dispatcher: agent })
  const found = {
    request,
    upload,
    stream: await streamed,
    pipeline: await text(duplex),
    fetch: await fetched.text(),
    refused: await (await client.request({ ...GET, path: '/refused' })).body.text(),
    refusedInput: await toFailure(client.request({ ...GET, headersTimeout: -1 })),
    late: await toFailure(client.request({ ...HANG, headersTimeout: 20 })),
    aborted: await abort(client),
    afterAbort: await (await client.request(GET)).body.text(),
    timedOut: await toFailure(client.request({ ...HANG, signal: AbortSignal.timeout(20) })),
  }
  const left = toFailure(client.request(HANG))
  await client.destroy()
  await agent.close()
  return { ...found, closed: await toFailure(agent.request({ origin, ...GET })), destroyed: await left }
}

/** Aborts once it has been sent. */
async function abort(client: Client): Promise<string> {
  const aborter = new AbortController()
  const call = client.request({ ...HANG, signal: aborter.signal }).catch(({ message }: Error) => message)
  const other = await client.request(GET)
  other.body.resume()
  await once(other.body, 'end')
  aborter.abort(new Error('mine'))
  return String(await call)
}

function toFailure(call: Promise<unknown>): Promise<string> {
  return call.then(
    () => 'it went well',
    ({ name }: Error) => name,
  )
}
