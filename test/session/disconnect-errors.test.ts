import { once } from 'node:events'
import { describe, expect, it } from 'vitest'
import { Client, errors } from '../../src/index.ts'
import type { ConnectionScript } from '../../src/testing/fault-connection.ts'
import { destroyWithTest } from '../support/clients/agents.ts'
import { ENGINES } from '../support/clients/engines.ts'
import { ENHANCE_YOUR_CALM, NO_ERROR } from '../support/peers/error-codes.ts'
import { SERVE, startPeer } from '../support/peers/peer-rig.ts'

describe.each(ENGINES)('the error of a disconnect event, on engine %s', (engine) => {
  /** The arguments of the `disconnect` event of a client whose one request got its response. */
  async function toDisconnect(onComplete: ConnectionScript['onComplete']): Promise<errors.DodiciError> {
    const peer = await startPeer({ ...SERVE, ...(onComplete === undefined ? {} : { onComplete }) })
    const client = destroyWithTest(new Client(peer.origin, { engine }))
    const disconnected = once(client, 'disconnect')
    const { body } = await client.request({ path: '/', method: 'GET' })
    await body.text()
    if (onComplete === undefined) peer.connection(0).break()
    const [origin, targets, error] = await disconnected
    expect([origin.origin, targets]).toEqual([peer.origin, [client]])
    return error
  }

  it('when the peer has retired the connection, has the code and the debug data of the GOAWAY', async () => {
    const error = await toDisconnect((stream, connection) => {
      stream.respond()
      connection.goAway({ lastStreamId: stream.id, code: NO_ERROR, debugData: 'max_age token=secret' })
    })
    expect(error).toBeInstanceOf(errors.SocketError)
    expect(error).toMatchObject({ code: 'UND_ERR_SOCKET', http2ErrorCode: NO_ERROR })
    expect(String(error.goawayDebugData)).toBe('max_age token=secret')
    expect(error.message).toBe('The connection was closed after GOAWAY with NO_ERROR')
  })

  it('when the peer has sent GOAWAY with an error, has the code and the debug data of that GOAWAY', async () => {
    const error = await toDisconnect((stream, connection) => {
      stream.respond()
      connection.goAway({ lastStreamId: stream.id, code: ENHANCE_YOUR_CALM, debugData: 'too many' })
      // Node's server ends each connection with one that gives no reason.
      connection.goAway({ lastStreamId: stream.id, code: NO_ERROR })
    })
    expect(error).toBeInstanceOf(errors.SocketError)
    expect(error).toMatchObject({ code: 'UND_ERR_SOCKET', http2ErrorCode: ENHANCE_YOUR_CALM })
    expect(String(error.goawayDebugData)).toBe('too many')
    expect(error.message).toMatch(/^The connection was closed after GOAWAY with ENHANCE_YOUR_CALM/)
    expect(error.message).not.toContain('too many')
  })

  it('when there was no GOAWAY, names the cause of the disconnect', async () => {
    const error = await toDisconnect(undefined)
    expect(error.message).not.toContain('GOAWAY')
    expect(error.code).toEqual(expect.any(String))
    expect(error.http2ErrorCode ?? null).toBeNull()
  })
  it.each<[what: string, end: (client: Client) => Promise<void>, reason: object]>([
    ['close()', (client) => client.close(), { code: 'UND_ERR_DESTROYED' }],
    ['destroy()', (client) => client.destroy(), { code: 'UND_ERR_DESTROYED' }],
    ['destroy(error)', (client) => client.destroy(new errors.SocketError('mine')), { message: 'mine' }],
    ['destroy() with a string', (client) => client.destroy('mine' as unknown as Error), { cause: 'mine' }],
    [
      'close(), and destroy(error) before that has finished',
      (client) => Promise.race([client.close(), client.destroy(new errors.SocketError('mine'))]),
      { message: 'mine' },
    ],
  ])('after the dispatcher has ended the connection by %s, is the same as in undici', async (_what, end, reason) => {
    const peer = await startPeer(SERVE)
    const client = destroyWithTest(new Client(peer.origin, { engine }))
    const disconnected = once(client, 'disconnect')
    await (await client.request({ path: '/', method: 'GET' })).body.text()
    await end(client)
    const [, , error] = await disconnected
    expect(error).toMatchObject(reason)
  })
})
