import { describe, expect, it } from 'vitest'
import { presets } from '../../src/testing/index.ts'
import { ENGINES } from '../support/clients/engines.ts'
import type { FaultScene } from '../support/peers/fault-rig.ts'
import { startScene } from '../support/peers/fault-rig.ts'

const WINDOW = 65_535

async function toEnds({ ask, toEnd }: FaultScene, ...asked: readonly string[]): Promise<string[]> {
  return Promise.all(asked.map((what) => toEnd(ask(what))))
}

describe.each(ENGINES)('what real servers do, on engine %s', (engine) => {
  it('nginx that retires › takes its last request, ignores what lies above, and closes', async () => {
    const scene = await startScene({ engine })
    scene.server.use(presets.nginxThatRetires({ requests: 2 }))
    const asked = ['POST /0', 'POST /1', 'POST /2', 'POST /3']
    expect(await toEnds(scene, ...asked)).toEqual(asked.map((what) => `200 ${what}`))
    await scene.server.waitFor(() => scene.server.connection(0).hasEnded)
    // Two were sent on the first connection, and not responded to; both came again on the second.
    expect(scene.server.counts).toEqual({ 'POST /0': 1, 'POST /1': 1, 'POST /2': 2, 'POST /3': 2 })
    expect(await toEnds(scene, 'GET /next')).toEqual(['200 GET /next'])
  })

  it('Apache that restarts › announces the end, and then names the last request', async () => {
    const scene = await startScene({ engine })
    scene.server.use(presets.apacheThatRestarts({ requests: 1 }))
    scene.server.onRequest('/held', async (stream, connection) => {
      while (!connection.hasEnded && (await connection.delay(1)));
      stream.respond()
    })
    expect(await toEnds(scene, 'POST /0')).toEqual(['200 POST /0'])
    await scene.server.waitFor(() => scene.server.connection(0).hasEnded)
    expect(await toEnds(scene, 'POST /1')).toEqual(['200 POST /1'])
    expect(scene.server.ledger).toEqual(['0/1 POST /0', '1/1 POST /1'])
  })

  it('grpc-go that counts PINGs › ends the connection at the third strike', async () => {
    const scene = await startScene({ engine })
    scene.server.use(presets.grpcGoThatCountsPings())
    scene.server.onRequest('/held', async (_stream, connection) => {
      while (await connection.delay(1));
    })
    const held = scene.ask('POST /held', { headersTimeout: 0, bodyTimeout: 0 })
    expect(await scene.toEnd(held)).toBe('SocketError ENHANCE_YOUR_CALM maybe')
    expect(scene.server.connection(0).pings.length).toBe(4)
  })

  it('Node that ends by a reset › is a body without an end, where a window is used up by its last octet', async () => {
    const scene = await startScene({ engine, initialWindowSize: WINDOW, connectionWindowSize: WINDOW })
    scene.server.use(presets.nodeThatEndsByReset())
    scene.server.onRequest('/whole', (stream) => stream.respond('x'.repeat(WINDOW)))
    expect(await toEnds(scene, 'GET /whole')).toEqual(['StreamError NO_ERROR yes'])
    expect(await toEnds(scene, 'GET /next')).toEqual(['200 GET /next'])
  })

  it('Node that ends by a reset › does not happen with the windows that Dodici has by default', async () => {
    const scene = await startScene({ engine })
    scene.server.use(presets.nodeThatEndsByReset())
    scene.server.onRequest('/whole', (stream) => stream.respond('x'.repeat(WINDOW)))
    expect(await toEnds(scene, 'GET /whole')).toEqual([`200 ${'x'.repeat(WINDOW)}`])
  })

  it('an ALB that drains › loses nothing', async () => {
    const scene = await startScene({ engine })
    scene.server.use(presets.albThatDrains({ requests: 2 }))
    const asked = ['POST /0', 'POST /1', 'POST /2']
    expect(await toEnds(scene, ...asked)).toEqual(asked.map((what) => `200 ${what}`))
  })

  it('an ALB that cuts its last response › is a response that has no end', async () => {
    const scene = await startScene({ engine })
    scene.server.use(presets.albThatDrains({ requests: 1, cutsLast: true }))
    expect(await toEnds(scene, 'POST /0')).toEqual(['SocketError - yes'])
  })
})
