/** Dispatchers that call the handler within resume(), as undici's HTTP/1.1 does. */

import { describe, expect, it } from 'vitest'
import { fetch } from '../../../src/index.ts'
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
