/** Reads a large body whose clone is garbage, and reports the most memory that its bytes took. */

import { setImmediate } from 'node:timers/promises'
import { fetch } from '../../../src/index.ts'
import type { DispatchHandler, DispatchOptions } from '../../../types/index.ts'
import { INERT } from '../../support/clients/inert-controller.ts'

const PIECE = 1_048_576
const PIECES = 40

/** Gives a piece for each call of resume(). */
const dispatcher = {
  dispatch(_options: DispatchOptions, handler: DispatchHandler) {
    let left = PIECES
    const controller = {
      ...INERT,
      resume() {
        if (left-- > 0) handler.onResponseData?.(controller, Buffer.alloc(PIECE))
        else if (left === -1) handler.onResponseEnd?.(controller, {})
      },
    }
    handler.onRequestStart?.(controller, null)
    handler.onResponseStart?.(controller, 200, {}, '')
    return true
  },
}

/** In a function of its own: its references on the stack are gone when it returns. */
async function open(): Promise<Response> {
  const response = await fetch('http://a.test/', { dispatcher })
  response.clone()
  return response
}

async function collect(): Promise<void> {
  globalThis.gc?.()
  // Callbacks of collected objects come in a turn of their own.
  await setImmediate()
}

const response = await open()
for (let i = 0; i < 3; i++) await collect()
let read = 0
let most = 0
for await (const chunk of response.body ?? []) {
  read += chunk.length
  await collect()
  most = Math.max(most, process.memoryUsage().arrayBuffers)
}
console.log(JSON.stringify({ read, most, expected: PIECE * PIECES }))
