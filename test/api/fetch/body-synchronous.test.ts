/**
 * Dispatchers that call the handler within resume(), as undici's HTTP/1.1 does; and ends in the middle of an element.
 */

import { getEventListeners } from 'node:events'
import { createServer } from 'node:http'
import http2 from 'node:http2'
import type { AddressInfo } from 'node:net'
import zlib from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Agent, fetch } from '../../../src/index.ts'
import type { DispatchHandler, DispatchOptions } from '../../../types/index.ts'
import { INERT } from '../../support/clients/inert-controller.ts'

/** Gives each piece of a body as soon as it is requested, and the end with the last piece. */
function toDispatcher(pieces: readonly Buffer[]) {
  return {
    dispatch(_options: DispatchOptions, handler: DispatchHandler) {
      let next = 0
      let isPaused = false
      let isOver = false
      const flow = (): void => {
        while (!isPaused && !isOver) {
          const piece = pieces[next++]
          if (piece !== undefined) handler.onResponseData?.(controller, piece)
          else {
            isOver = true
            handler.onResponseEnd?.(controller, {})
          }
        }
      }
      const controller = {
        ...INERT,
        abort() {
          isOver = true
        },
        pause() {
          isPaused = true
        },
        resume() {
          isPaused = false
          flow()
        },
      }
      handler.onRequestStart?.(controller, null)
      handler.onResponseStart?.(controller, 200, {}, '')
      flow()
      return true
    },
  }
}

const sizes = [[65_536], [65_536, 1], [1, 65_536, 200_000], [10, 10], [65_535, 65_537], [200_000, 200_000]]

describe('when a dispatcher calls the handler within resume()', () => {
  const toPieces = (lengths: readonly number[]) => lengths.map((length, i) => Buffer.alloc(length, i + 1))

  it.each(sizes.map((lengths) => [lengths]))('loses nothing of %j, read piece by piece', async (lengths) => {
    const response = await fetch('http://a.test/', { dispatcher: toDispatcher(toPieces(lengths)) })
    const read: Uint8Array[] = []
    for await (const chunk of response.body ?? []) read.push(chunk)
    expect(Buffer.concat(read).equals(Buffer.concat(toPieces(lengths)))).toBe(true)
  })

  it.each(sizes.map((lengths) => [lengths]))('loses nothing of %j, read into views', async (lengths) => {
    const response = await fetch('http://a.test/', { dispatcher: toDispatcher(toPieces(lengths)) })
    const reader = response.body?.getReader({ mode: 'byob' })
    const read: Uint8Array[] = []
    for (;;) {
      const result = await reader?.read(new Uint8Array(10_000))
      if (result?.done !== false) break
      read.push(result.value)
    }
    expect(Buffer.concat(read).equals(Buffer.concat(toPieces(lengths)))).toBe(true)
  })

  it.each(sizes.map((lengths) => [lengths]))('loses nothing of %j, read whole', async (lengths) => {
    const response = await fetch('http://a.test/', { dispatcher: toDispatcher(toPieces(lengths)) })
    expect(Buffer.from(await response.arrayBuffer()).equals(Buffer.concat(toPieces(lengths)))).toBe(true)
  })
})

describe('when a body ends in the middle of an element', () => {
  const plain = createServer((_request, response) => {
    response.setHeader('content-encoding', 'gzip')
    response.end(zlib.gzipSync('abc'))
  })
  const framed = http2.createServer((_request, response) => {
    response.setHeader('content-encoding', 'gzip')
    response.end(zlib.gzipSync('abc'))
  })
  const servers = [plain, framed]
  const toOrigin = (server: typeof plain | typeof framed) =>
    `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const agent = new Agent({ h2c: ({ port }) => port === String((framed.address() as AddressInfo).port) })

  beforeAll(async () => {
    for (const server of servers) {
      await new Promise<void>((resolve) => {
        server.listen(0, '127.0.0.1', resolve)
      })
    }
  })

  afterAll(async () => {
    await agent.destroy()
    for (const server of servers) await new Promise((resolve) => server.close(resolve))
  })

  it.each([
    ['HTTP/1.1', plain],
    ['HTTP/2', framed],
  ])('fails only the read, over %s', async (_what, server) => {
    const { signal } = new AbortController()
    const response = await fetch(`${toOrigin(server)}/`, { dispatcher: agent, signal })
    const reader = response.body?.getReader({ mode: 'byob' })
    await expect(
      reader?.read(new Uint16Array(8)).then(() => reader.read(new Uint16Array(8))),
    ).rejects.toThrow(TypeError)
    expect(getEventListeners(signal, 'abort')).toEqual([])
  })
})
