import type { TLSSocket } from 'node:tls'
import { connect } from 'node:tls'
import { describe, expect, it } from 'vitest'
import type { Connector } from '../../types/index.ts'
import { ENGINES } from '../support/clients/engines.ts'
import { ask, startHarness, startPeer, toOutcomes } from '../support/peers/peer-rig.ts'
import { toTlsPeer } from '../support/peers/peer-tls.ts'

const CALLS = 20
/** Less than a PING takes to notice: two seconds of silence, and `pingTimeout`. Milliseconds. */
const SOON = 14_000

/**
 * Node reads nothing more, as Node 20 to 24 do after a write over TLS has heard of a reset: no event follows. Here it is
 * made so, since which of the two hears first is a race.
 */
function deafen(socket: TLSSocket | undefined): void {
  const { _handle: handle } = Object(socket)
  handle.readStop()
}

/** PINGs are at their defaults. */
describe.each(ENGINES)('a TLS connection that is reset while node reads nothing, on engine %s', (engine) => {
  async function begin() {
    const { options, ca } = await toTlsPeer()
    const peer = await startPeer(
      { onComplete: (stream) => void (stream.path !== '/held' && stream.respond()) },
      options,
    )
    const sockets: TLSSocket[] = []
    const connector: Connector = ({ port }, callback) => {
      const socket = connect({
        host: '127.0.0.1',
        port: Number(port),
        servername: 'localhost',
        ca,
        ALPNProtocols: ['h2'],
      })
      sockets.push(socket)
      socket.once('secureConnect', () => callback(null, socket))
    }
    const harness = startHarness(peer, { engine, connections: 1, connect: connector, replaySafe: false })
    expect(await toOutcomes([ask(harness, 'GET /first')])).toEqual(['GET /first'])
    const calls = Array.from({ length: CALLS }, () => ask(harness, 'POST /held'))
    await peer.waitFor(() => peer.requests.length === 1 + CALLS)
    return { peer, harness, sockets, calls }
  }

  it('its calls fail within a look or two, and the next one gets a new connection', async () => {
    const { peer, harness, sockets, calls } = await begin()
    deafen(sockets[0])
    peer.connection(0).break()
    let settled = 0
    for (const call of calls) void call.settled.then(() => settled++)
    await expect.poll(() => settled, { timeout: SOON }).toBe(CALLS)
    for (const { error } of calls)
      expect(error).toMatchObject({
        name: 'SocketError',
        code: 'UND_ERR_SOCKET',
        processed: 'maybe',
        message: 'The connection was lost: The peer closed or reset it',
      })
    expect(await toOutcomes([ask(harness, 'GET /next')])).toEqual(['GET /next'])
    expect(peer.connections).toHaveLength(2)
  })
})
