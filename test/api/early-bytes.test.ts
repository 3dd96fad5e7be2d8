import { once } from 'node:events'
import { Writable } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { Client, errors } from '../../src/index.ts'
import { frames } from '../../src/testing/frames.ts'
import type { RequestOptions } from '../../types/index.ts'
import { destroyWithTest } from '../support/clients/agents.ts'
import { INTERNAL_ERROR } from '../support/peers/error-codes.ts'
import { startPeer } from '../support/peers/peer-rig.ts'

const FRAME = 16_384
const GET = { path: '/', method: 'GET' } as const

/** A response of so many DATA frames, followed at once by RST_STREAM. */
async function get(count = 1, options: Partial<RequestOptions> = {}) {
  const peer = await startPeer({
    onComplete(stream, connection) {
      const data = Array.from({ length: count }, () => frames.data(stream.id, 'x'.repeat(FRAME)))
      connection.write(frames.response(stream.id), ...data, frames.reset(stream.id, INTERNAL_ERROR))
    },
  })
  const client = destroyWithTest(new Client(peer.origin))
  return client.request({ ...GET, ...options })
}

describe('a body of request() that is reset', () => {
  it.each([1, 20])('when it is iterated over › gives the %i pieces that have come first', async (count) => {
    const { body } = await get(count)
    let received = 0
    const reading = (async () => {
      for await (const chunk of body) received += chunk.length
    })()
    await expect(reading).rejects.toThrow(errors.StreamError)
    expect(received).toBe(count * FRAME)
  })

  it('when it is iterated over slowly › gives all pieces that have come', async () => {
    const { body } = await get(20)
    let received = 0
    const reading = (async () => {
      for await (const chunk of body) {
        received += chunk.length
        for (let turn = 0; turn < 5; turn++) await nextTurn()
      }
    })()
    await expect(reading).rejects.toThrow(errors.StreamError)
    expect(received).toBe(20 * FRAME)
  })

  it('when it is read by its events › emits data, then error, then close', async () => {
    const { body } = await get(2)
    const events: string[] = []
    body.on('data', (chunk: Buffer) => events.push(`data ${chunk.length}`))
    body.on('error', (error) => events.push(error.name))
    body.on('end', () => events.push('end'))
    await new Promise<void>((resolve) => body.on('close', resolve))
    expect(events).toEqual([`data ${FRAME}`, `data ${FRAME}`, 'StreamError'])
  })

  it('when it is piped to a slow sink › writes all pieces that have come', async () => {
    const { body } = await get(10)
    let written = 0
    const sink = new Writable({
      highWaterMark: 1,
      write(chunk: Buffer, _encoding, callback) {
        written += chunk.length
        setImmediate(callback)
      },
    })
    body.pipe(sink)
    const [error] = await once(body, 'error')
    expect([error.name, written]).toEqual(['StreamError', 10 * FRAME])
  })

  it('when it is read as a web stream › gives the pieces that have come first', async () => {
    const { body } = await get(3)
    const reader = (body.body as ReadableStream<Uint8Array>).getReader()
    let received = 0
    const read = async (): Promise<void> => {
      for (let piece = await reader.read(); !piece.done; piece = await reader.read())
        received += piece.value.length
    }
    await expect(read()).rejects.toThrow(errors.StreamError)
    expect(received).toBe(3 * FRAME)
  })

  it('when it is paused by its reader › waits for it', async () => {
    const { body } = await get(4)
    let received = 0
    body.on('data', (chunk: Buffer) => {
      received += chunk.length
      body.pause()
    })
    await once(body, 'data')
    for (let turn = 0; turn < 5; turn++) await nextTurn()
    expect([received, body.destroyed]).toEqual([FRAME, false])
    body.removeAllListeners('data')
    body.on('data', (chunk: Buffer) => {
      received += chunk.length
    })
    body.resume()
    await once(body, 'error')
    expect(received).toBe(4 * FRAME)
  })

  it('when it is not read › fails in the next turn of the event loop', async () => {
    const { body } = await get(2)
    expect(body.destroyed).toBe(false)
    await new Promise<void>((resolve) => body.once('close', resolve))
    expect(body.errored).toBeInstanceOf(errors.StreamError)
    await expect(body.text()).rejects.toThrow(errors.StreamError)
  })

  it.each([
    'text',
    'json',
    'bytes',
    'arrayBuffer',
    'blob',
  ] as const)('when it is read by %s() › rejects with the error', async (method) => {
    const { body } = await get(2)
    await expect(body[method]()).rejects.toThrow(errors.StreamError)
    expect(body.destroyed).toBe(true)
  })

  it('when it is read by text() behind setEncoding() › rejects with the error', async () => {
    const { body } = await get(2)
    body.setEncoding('utf8')
    await expect(body.text()).rejects.toThrow(errors.StreamError)
  })

  it('when its reader stops early › closes without the error of the reset', async () => {
    const { body } = await get(4)
    for await (const _chunk of body) break
    // As by Node's own iterator.
    expect([body.destroyed, body.errored?.name]).toEqual([true, 'AbortError'])
  })

  it('when its signal is aborted while it is read › drops the rest', async () => {
    const controller = new AbortController()
    const { body } = await get(4, { signal: controller.signal })
    const reason = new Error('enough')
    let received = 0
    const reading = (async () => {
      for await (const chunk of body) {
        received += chunk.length
        controller.abort(reason)
      }
    })()
    await expect(reading).rejects.toBe(reason)
    expect(received).toBeLessThan(4 * FRAME)
  })
})
