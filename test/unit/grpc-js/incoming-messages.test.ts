/** What a call keeps of a server that sends more than its caller asks for. */

import { describe, expect, it } from 'vitest'
import { IncomingMessages } from '../../../src/grpc-js/incoming-messages.ts'
import { toFrame } from '../../../src/grpc-js/message-decoder.ts'

const EMPTY = Buffer.alloc(5)

function start(maxSize = 1_000) {
  const told = { messages: 0, held: 0, flows: 0 }
  const messages = new IncomingMessages(
    {
      deliver: () => {
        told.messages++
      },
      hold: () => {
        told.held++
      },
      flow: () => {
        told.flows++
      },
      onBadMessage: () => {},
      onDrained: () => {},
    },
    maxSize,
  )
  return { messages, told }
}

describe('messages that were not asked for', () => {
  it('and are empty › make the server wait, too', () => {
    const { messages, told } = start()
    for (let count = 0; count < 1_000; count++) messages.write(EMPTY)
    expect(told).toEqual({ messages: 0, held: 0, flows: 0 })
    for (let count = 0; count < 200; count++) messages.write(EMPTY)
    expect(told).toEqual({ messages: 0, held: 1, flows: 0 })
  })

  it('and are asked for › let it go on when all were told', async () => {
    const { messages, told } = start()
    messages.write(Buffer.concat(Array.from({ length: 1_100 }, () => EMPTY)))
    messages.write(EMPTY)
    for (let count = 0; count < 1_101; count++) {
      messages.want()
      await new Promise(process.nextTick)
    }
    expect(told).toEqual({ messages: 1_101, held: 1, flows: 1 })
  })

  it('and are large › make the server wait only if it sends more', () => {
    const { messages, told } = start(-1)
    messages.write(toFrame(Buffer.alloc(200_000), false))
    expect(told).toEqual({ messages: 0, held: 0, flows: 0 })
    messages.write(EMPTY)
    expect(told).toEqual({ messages: 0, held: 1, flows: 0 })
  })
})
