import { Readable } from 'node:stream'
import { ReadableStream } from 'node:stream/web'
import { describe, expect, it } from 'vitest'
import { errors } from '../../src/index.ts'
import type { RequestBody } from '../../types/index.ts'
import { startClient } from '../support/clients/agents.ts'
import { read } from '../support/servers/server.ts'

async function start(strictContentLength?: boolean) {
  const heard: { length: string | undefined; text: string }[] = []
  const { server, client } = await startClient(
    async (stream, headers) => {
      const text = await read(stream).catch(() => null)
      if (text === null || stream.destroyed) return
      heard.push({ length: headers['content-length'], text })
      stream.respond({ ':status': 200 })
      stream.end('hello')
    },
    { strictContentLength },
  )
  const send = async (body: RequestBody, length: number): Promise<string> => {
    const headers = { 'content-length': String(length) }
    return (await client.request({ path: '/', method: 'POST', body, headers })).body.text()
  }
  const expectHello = async (): Promise<void> => {
    expect(await (await client.request({ path: '/', method: 'GET' })).body.text()).toBe('hello')
    expect(server.sessions).toHaveLength(1)
  }
  return { heard, send, expectHello }
}

const KNOWN: readonly [string, () => RequestBody][] = [
  ['a string', () => 'four'],
  ['bytes', () => Buffer.from('four')],
  ['a Blob', () => new Blob(['four'])],
  ['a factory of a string', () => () => 'four'],
]

const UNKNOWN: readonly [string, () => RequestBody][] = [
  ['a Readable', () => Readable.from(['fo', 'ur'])],
  ['an array', () => ['fo', 'ur']],
  ['a web stream', () => ReadableStream.from(['fo', 'ur'])],
  ['a factory of an array', () => () => ['fo', 'ur']],
]

describe('strictContentLength', () => {
  describe.each([...KNOWN, ...UNKNOWN])('by default, with %s', (_what, toBody) => {
    it('takes the right length', async () => {
      const { heard, send } = await start()
      expect(await send(toBody(), 4)).toBe('hello')
      expect(heard).toEqual([{ length: '4', text: 'four' }])
    })

    it.each([
      { what: 'too large', length: 5 },
      { what: 'too small', length: 3 },
      { what: 'zero', length: 0 },
    ])('fails the call for a length that is $what, and no other call', async ({ length }) => {
      const { heard, send, expectHello } = await start()
      const failed = send(toBody(), length)
      await expect(failed).rejects.toBeInstanceOf(errors.RequestContentLengthMismatchError)
      await expect(failed).rejects.toThrow(/4|5|3|2/)
      expect(heard).toEqual([])
      await expectHello()
    })
  })

  describe.each(KNOWN)('when it is false, with %s', (_what, toBody) => {
    it.each([3, 5])('sends the right length instead of %i', async (length) => {
      const { heard, send } = await start(false)
      expect(await send(toBody(), length)).toBe('hello')
      expect(heard).toEqual([{ length: '4', text: 'four' }])
    })
  })

  describe.each(UNKNOWN)('when it is false, with %s', (_what, toBody) => {
    it('sends the body as it comes, and the server rejects a wrong length', async () => {
      const { heard, send, expectHello } = await start(false)
      expect(await send(toBody(), 4)).toBe('hello')
      expect(heard).toEqual([{ length: '4', text: 'four' }])
      await expect(send(toBody(), 5)).rejects.toMatchObject({ code: 'DODICI_ERR_STREAM', http2ErrorCode: 1 })
      await expectHello()
    })
  })
})
