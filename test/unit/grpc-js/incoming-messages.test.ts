/** What a call keeps of a server that sends more than its caller asks for. */

import { describe, expect, it } from 'vitest'
import { IncomingMessages } from '../../../src/grpc-js/incoming-messages.ts'

const EMPTY = Buffer.alloc(5)

function start() {
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
    1_000,
  )
  return { messages, told }
}

describe('messages that were not asked for', () => {
  it('and are empty › make the server wait, too', () => {
    const { messages, told } = start()
    for (let count = 0; count < 200; count++) messages.write(EMPTY)
    expect(told).toEqual({ messages: 0, held: 0, flows: 0 })
    for (let count = 0; count < 200; count++) messages.write(EMPTY)
    expect(told).toEqual({ messages: 0, held: 1, flows: 0 })
  })

  it('and are asked for › let it go on when all were told', async () => {
    const { messages, told } = start()
    messages.write(Buffer.concat(Array.from({ length: 300 }, () => EMPTY)))
    for (let count = 0; count < 300; count++) {
      messages.want()
      await new Promise(process.nextTick)
    }
    expect(told).toEqual({ messages: 300, held: 1, flows: 1 })
  })
})
