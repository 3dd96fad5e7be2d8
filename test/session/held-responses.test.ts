import { once } from 'node:events'
import { Readable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { Client } from '../../src/index.ts'
import { Flag, frames } from '../../src/testing/frames.ts'
import { destroyWithTest } from '../support/clients/agents.ts'
import { ENGINES } from '../support/clients/engines.ts'
import { NO_ERROR } from '../support/peers/error-codes.ts'
import { startPeer } from '../support/peers/peer-rig.ts'

const GET = { path: '/', method: 'GET' } as const

/** With 1 the reader holds the response back from the first piece on. */
const HIGH_WATER_MARKS = [1, 65_536]

describe.each(ENGINES)('on engine %s', (engine) => {
  /** Responds to a GET, and gives the body, unread, once the client has heard all of the response. */
  async function ask(highWaterMark: number, toResponse: (streamId: number) => Buffer[]) {
    const peer = await startPeer({ onRequest: ({ id }, connection) => connection.write(...toResponse(id)) })
    const client = destroyWithTest(new Client(peer.origin, { engine }))
    const { body } = await client.request({ ...GET, highWaterMark })
    const connection = peer.connection(0)
    await connection.ping()
    /** The session dies, and the client knows. */
    const lose = async () => {
      const lost = once(client, 'disconnect')
      connection.socket.destroy()
      await lost
    }
    return { client, body, lose }
  }

  describe.each(HIGH_WATER_MARKS)('a response whose reader has room for %d bytes', (highWaterMark) => {
    const toPieces = (streamId: number, flags = 0) => [
      frames.data(streamId, 'aaaaa'),
      frames.data(streamId, 'bbbbb', flags),
    ]
    const toWhole = (id: number) => [frames.response(id, 0, 10), ...toPieces(id), frames.reset(id, NO_ERROR)]
    const toBroken = (id: number) => [frames.response(id), ...toPieces(id), frames.reset(id, NO_ERROR)]
    const toEnded = (id: number) => [frames.response(id), ...toPieces(id, Flag.END_STREAM)]
    const brokenOff = { name: 'StreamError', http2ErrorCode: NO_ERROR, processed: 'yes' }

    it('is complete when its content-length has come before RST_STREAM(NO_ERROR)', async () => {
      const { client, body } = await ask(highWaterMark, toWhole)
      expect(await body.text()).toBe('aaaaabbbbb')
      await expect.poll(() => client.stats).toMatchObject({ running: 0, size: 0 })
    })

    it('is complete when its content-length has come before RST_STREAM(NO_ERROR), also when the session dies', async () => {
      const { body, lose } = await ask(highWaterMark, toWhole)
      await lose()
      expect(await body.text()).toBe('aaaaabbbbb')
    })

    it('fails when RST_STREAM(NO_ERROR) comes in the middle', async () => {
      const { client, body } = await ask(highWaterMark, toBroken)
      await expect(body.text()).rejects.toMatchObject(brokenOff)
      await expect.poll(() => client.stats).toMatchObject({ running: 0, size: 0 })
    })

    it('fails with RST_STREAM(NO_ERROR) in the middle, also when the session dies', async () => {
      const { body, lose } = await ask(highWaterMark, toBroken)
      // Before the reader reads.
      body.on('error', () => {})
      await lose()
      await expect(body.text()).rejects.toMatchObject(brokenOff)
    })

    it('when it is complete and its session dies › is still delivered', async () => {
      const { client, body, lose } = await ask(highWaterMark, toEnded)
      await lose()
      expect(await body.text()).toBe('aaaaabbbbb')
      expect(client.stats).toMatchObject({ running: 0, size: 0 })
    })
  })

  it('when a complete response is unread and its session dies › the upload releases its source', async () => {
    const toEnded = ({ id }: { id: number }) => [
      frames.response(id),
      frames.data(id, 'aaaaa'),
      frames.data(id, 'bbbbb', Flag.END_STREAM),
    ]
    const peer = await startPeer({ onRequest: (stream, connection) => connection.write(...toEnded(stream)) })
    const client = destroyWithTest(new Client(peer.origin, { engine }))
    const endless = new Readable({ read() {} })
    const letGo = once(endless, 'close')
    endless.push('part')
    const { body } = await client.request({ path: '/', method: 'POST', body: endless, highWaterMark: 1 })
    await peer.connection(0).ping()
    peer.connection(0).socket.destroy()
    await letGo
    expect(await body.text()).toBe('aaaaabbbbb')
  })
})
