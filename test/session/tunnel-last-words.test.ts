import { describe, expect, it } from 'vitest'
import { Client } from '../../src/index.ts'
import type { ConnectionScript } from '../../src/testing/fault-connection.ts'
import type { FaultStream } from '../../src/testing/fault-stream.ts'
import { Flag, frames, Setting } from '../../src/testing/frames.ts'
import { destroyWithTest } from '../support/clients/agents.ts'
import { ENGINES } from '../support/clients/engines.ts'
import { NO_ERROR } from '../support/peers/error-codes.ts'
import { startPeer } from '../support/peers/peer-rig.ts'

/** More than a reader that is slow is given at once. */
const WORDS = Buffer.alloc(100_000, 'the last words ').toString()

/** The caller's two ways to send something. */
const VERBS = ['write', 'end'] as const

function sendWords({ connection, id }: FaultStream): void {
  for (let at = 0; at < WORDS.length; at += 10_000) {
    const isLast = at + 10_000 >= WORDS.length
    connection.write(frames.data(id, WORDS.slice(at, at + 10_000), isLast ? Flag.END_STREAM : 0))
  }
}

function resetQuietly({ connection, id }: FaultStream): void {
  connection.write(frames.reset(id, NO_ERROR))
}

const IN_ONE_SEGMENT: ConnectionScript = {
  onRequest: (stream) =>
    stream.connection.inOneSegment(() => {
      stream.head(200)
      sendWords(stream)
      resetQuietly(stream)
    }),
}

/** The reset comes later. */
const IN_TWO_SEGMENTS: ConnectionScript = {
  onRequest: (stream) =>
    stream.connection.inOneSegment(() => {
      stream.head(200)
      sendWords(stream)
    }),
}

describe.each(
  ENGINES,
)('a tunnel that the peer has ended and then reset with NO_ERROR, on engine %s', (engine) => {
  /** The tunnel takes none of our data before it is reset. */
  async function start(script: ConnectionScript) {
    const peer = await startPeer({
      settings: [[Setting.INITIAL_WINDOW_SIZE, 0]],
      grantsCredit: false,
      ...script,
    })
    const client = destroyWithTest(new Client(peer.origin, { engine, pingInterval: 0 }))
    const { socket: tunnel } = await client.connect({ path: 'x.example:443' })
    const events: string[] = []
    const heard: Error[] = []
    let text = ''
    tunnel.on('error', (error) => heard.push(error))
    const closed = new Promise((resolve) => tunnel.on('close', resolve))
    const readAll = (): void => {
      tunnel.on('end', () => events.push('end'))
      tunnel.on('data', (piece: Buffer) => {
        text += piece.toString()
      })
    }
    const send = (verb: (typeof VERBS)[number]): Promise<Error | null> =>
      new Promise((resolve) => {
        const callback = (error?: Error | null): void => {
          events.push(verb)
          resolve(error ?? null)
        }
        // The types of end() leave the error out.
        if (verb === 'write') tunnel.write('hello', callback)
        else tunnel.end('hello', callback as () => void)
      })
    /** All that the peer has sent was read, and some turns of the event loop have passed. */
    const settle = () => peer.connection(0).ping()
    return {
      tunnel,
      stream: peer.request('*'),
      heard,
      events,
      closed,
      readAll,
      send,
      settle,
      toText: () => text,
    }
  }

  describe.each(VERBS)('and %s() of the caller', (verb) => {
    describe('behind all of that', () => {
      it('leaves a reader what has come', async () => {
        const { readAll, send, closed, heard, events, toText } = await start(IN_ONE_SEGMENT)
        readAll()
        const error = await send(verb)
        await closed
        expect(toText()).toBe(WORDS)
        expect(error).toMatchObject({ name: 'StreamError', processed: 'yes' })
        expect(heard).toEqual([error])
        expect(events).toEqual(['end', verb])
      })

      it('leaves it to a reader that comes in the same turn, and has paused', async () => {
        const { tunnel, readAll, send, closed, heard, events, settle, toText } = await start(IN_ONE_SEGMENT)
        const told = send(verb)
        readAll()
        tunnel.pause()
        await settle()
        expect([tunnel.destroyed, events]).toEqual([false, []])
        tunnel.resume()
        await closed
        expect(toText()).toBe(WORDS)
        expect(heard).toEqual([await told])
        expect(events).toEqual(['end', verb])
      })

      it('fails where there is no reader, who may never come', async () => {
        const { send, closed, heard } = await start(IN_ONE_SEGMENT)
        const error = await send(verb)
        await closed
        expect(error).toMatchObject({ name: 'StreamError', processed: 'yes' })
        expect(heard).toEqual([error])
      })

      it('fails at once when the caller destroys the tunnel', async () => {
        const { tunnel, readAll, send, closed, heard, settle } = await start(IN_ONE_SEGMENT)
        const told = send(verb)
        readAll()
        tunnel.pause()
        await settle()
        const mine = new Error('mine')
        tunnel.destroy(mine)
        expect(await told).toBeInstanceOf(Error)
        await closed
        expect(heard).toEqual([mine])
      })
    })

    describe('before the reset', () => {
      it('fails where there is no reader, who may never come', async () => {
        const { send, stream, closed, heard, settle } = await start(IN_TWO_SEGMENTS)
        const told = send(verb)
        await settle()
        resetQuietly(stream)
        await closed
        expect(heard).toEqual([await told])
      })

      it('leaves a reader what has come', async () => {
        const { readAll, send, stream, closed, heard, events, toText } = await start(IN_TWO_SEGMENTS)
        readAll()
        const told = send(verb)
        resetQuietly(stream)
        await closed
        expect(toText()).toBe(WORDS)
        expect(heard).toEqual([await told])
        expect(events).toEqual(['end', verb])
      })

      it('leaves it to a reader that has paused', async () => {
        const { tunnel, readAll, send, stream, closed, heard, events, settle, toText } =
          await start(IN_TWO_SEGMENTS)
        const told = send(verb)
        readAll()
        tunnel.pause()
        await settle()
        resetQuietly(stream)
        await settle()
        expect([tunnel.destroyed, events]).toEqual([false, []])
        tunnel.resume()
        await closed
        expect(toText()).toBe(WORDS)
        expect(heard).toEqual([await told])
        expect(events).toEqual(['end', verb])
      })
    })
  })
})
