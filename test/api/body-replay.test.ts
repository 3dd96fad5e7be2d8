import { once } from 'node:events'
import { Readable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { errors } from '../../src/index.ts'
import type { RequestBody } from '../../types/index.ts'
import { startClient } from '../support/clients/agents.ts'
import { REFUSED_STREAM } from '../support/peers/error-codes.ts'

interface Received {
  readonly type: string | undefined
  readonly length: string | undefined
  readonly bytes: Buffer
}

const LARGE = Buffer.alloc(300_000, 'of no power of two')

/** A server that refuses the first streams, each when a part of its body has come, and takes the next. */
async function start(refusals = 1) {
  const refused: (string | undefined)[] = []
  const received: Received[] = []
  const { server, client } = await startClient(async (stream, headers) => {
    if (refused.length < refusals) {
      refused.push(headers['content-type'])
      await once(stream, 'data')
      stream.close(REFUSED_STREAM)
      return
    }
    const chunks: Buffer[] = []
    for await (const chunk of stream) chunks.push(chunk)
    const { 'content-type': type, 'content-length': length } = headers
    received.push({ type, length, bytes: Buffer.concat(chunks) })
    stream.respond({ ':status': 200 })
    stream.end('hello')
  })
  return { server, client, refused, received }
}

function toForm(): FormData {
  const form = new FormData()
  form.append('field', 'value')
  form.append('file', new Blob([LARGE]), 'large.txt')
  return form
}

describe('a body whose stream was refused', () => {
  it.each<[string, () => RequestBody]>([
    ['a string', () => LARGE.toString()],
    ['bytes', () => LARGE],
    ['a Blob', () => new Blob([LARGE])],
    ['a factory of bytes', () => () => LARGE],
    [
      'a factory of a Readable',
      () => () => Readable.from([LARGE.subarray(0, 100_000), LARGE.subarray(100_000)]),
    ],
    [
      'a generator function',
      () =>
        function* () {
          for (let at = 0; at < LARGE.length; at += 1_000) yield LARGE.subarray(at, at + 1_000)
        },
    ],
  ])('and is %s is sent again, byte for byte', async (_what, toBody) => {
    const { client, received, refused, server } = await start(2)
    const { body } = await client.request({ path: '/', method: 'POST', body: toBody() })
    expect(await body.text()).toBe('hello')
    expect(refused).toHaveLength(2)
    expect(received).toHaveLength(1)
    expect(received[0]?.bytes.equals(LARGE)).toBe(true)
    expect(server.sessions).toHaveLength(1)
  })

  it('and is a FormData is sent again with the same boundary', async () => {
    const { client, received, refused } = await start()
    const { body } = await client.request({ path: '/', method: 'POST', body: toForm() })
    expect(await body.text()).toBe('hello')
    const [again] = received
    expect(again?.type).toBe(refused[0])
    expect(again?.length).toBe(String(again?.bytes.length))
    const copy = new ArrayBuffer(again?.bytes.length ?? 0)
    new Uint8Array(copy).set(again?.bytes ?? [])
    const parsed = await new Response(copy, { headers: { 'content-type': again?.type ?? '' } }).formData()
    expect(parsed.get('field')).toBe('value')
    expect(await (parsed.get('file') as File).text()).toBe(LARGE.toString())
  })

  it('and comes from a factory is made once for each attempt, and the previous one is destroyed', async () => {
    const { client } = await start(2)
    const made: Readable[] = []
    const { body } = await client.request({
      path: '/',
      method: 'POST',
      body: () => {
        const readable = Readable.from([LARGE.subarray(0, 200_000), LARGE.subarray(200_000)])
        made.push(readable)
        return readable
      },
    })
    expect(await body.text()).toBe('hello')
    expect(made.at(-1)?.readableEnded).toBe(true)
    expect(made.map((readable) => readable.destroyed)).toEqual([true, true, true])
  })

  it('and comes from a factory may be of another kind each time', async () => {
    const { client, received } = await start()
    let attempts = 0
    const { body } = await client.request({
      path: '/',
      method: 'POST',
      body: () => (attempts++ === 0 ? [LARGE] : new Blob(['small'], { type: 'text/plain' })),
    })
    expect(await body.text()).toBe('hello')
    expect(received).toEqual([{ type: 'text/plain', length: '5', bytes: Buffer.from('small') }])
  })

  it('and comes from a factory that throws the second time fails with that exception', async () => {
    const { client } = await start()
    const error = new Error('gone')
    let attempts = 0
    const failed = client.request({
      path: '/',
      method: 'POST',
      body: () => {
        if (attempts++ > 0) throw error
        return [LARGE]
      },
    })
    await expect(failed).rejects.toBe(error)
    expect(attempts).toBe(2)
    expect(await (await client.request({ path: '/', method: 'GET' })).body.text()).toBe('hello')
  })

  it.each<[string, () => RequestBody]>([
    ['a Readable', () => Readable.from([LARGE])],
    ['an array', () => [LARGE]],
    [
      'an async generator',
      () =>
        (async function* () {
          yield LARGE
        })(),
    ],
  ])('and is %s is not sent again: the call fails with processed: no', async (_what, toBody) => {
    const { client, received } = await start()
    const failed = client.request({ path: '/', method: 'POST', body: toBody() })
    await expect(failed).rejects.toBeInstanceOf(errors.StreamError)
    await expect(failed).rejects.toMatchObject({
      processed: 'no',
      http2ErrorCode: 7,
      attempts: 1,
      streamId: 1,
    })
    expect(received).toEqual([])
  })

  it('and comes from a factory is not made for a call that never gets a stream', async () => {
    const { client } = await start(0)
    let made = 0
    const body = (): string => {
      made++
      return 'x'
    }
    const failed = client.request({ path: '/', method: 'POST', body, signal: AbortSignal.abort() })
    await expect(failed).rejects.toMatchObject({ name: 'AbortError' })
    expect(made).toBe(0)
  })
})
