import { describe, expect, it } from 'vitest'
import type { ConnectionScript, FaultConnection } from '../../src/testing/fault-connection.ts'
import type { Frame } from '../../src/testing/frames.ts'
import { frames, Setting, Type } from '../../src/testing/frames.ts'
import { ENGINES } from '../support/clients/engines.ts'
import { ask, PATIENT, startHarness, startPeer, toOutcomes } from '../support/peers/peer-rig.ts'

const MEBIBYTE = 1_048_576

/** Returns credit for each read of so many bytes, on the stream and on the connection, as Go's x/net did before 2023. */
function toSmallCredit(step: number): ConnectionScript {
  const left = new Map<number, number>()
  return {
    grantsCredit: false,
    settings: [[Setting.INITIAL_WINDOW_SIZE, MEBIBYTE]],
    onConnection: (connection) => connection.grant(0, MEBIBYTE),
    onFrame({ type, streamId, payload }: Frame, connection: FaultConnection): void {
      if (type !== Type.DATA) return
      const unread = (left.get(streamId) ?? 0) + payload.length
      const reads = Math.floor(unread / step)
      left.set(streamId, unread - reads * step)
      const one = Buffer.concat([frames.windowUpdate(0, step), frames.windowUpdate(streamId, step)])
      if (reads > 0) connection.write(Buffer.alloc(reads * one.length, one))
    },
    onComplete(stream, connection): void {
      if (stream.path === '/sibling') return
      stream.respond(`${stream.length}`)
      for (const sibling of connection.streams) if (sibling.path === '/sibling') sibling.end('sibling')
    },
    onRequest(stream): void {
      if (stream.path === '/sibling') stream.head(200)
    },
  }
}

describe.each(ENGINES)('a server that returns credit in small steps, on engine %s', (engine) => {
  it.each([
    { step: 200, size: 3 * MEBIBYTE },
    { step: 64, size: 3 * MEBIBYTE },
    { step: 1, size: 131_072 },
  ])('of $step bytes › gets all of an upload, and its sibling goes on', async ({ step, size }) => {
    const peer = await startPeer(toSmallCredit(step))
    const harness = startHarness(peer, { ...PATIENT, engine, connections: 1 })
    const calls = [ask(harness, 'GET /sibling'), ask(harness, 'POST /upload', { body: Buffer.alloc(size) })]
    expect(await toOutcomes(calls)).toEqual(['sibling', `${size}`])
    expect(peer.connections).toHaveLength(1)
  })

  it('of 64 bytes › keeps its connection when 20 uploads are aborted', async () => {
    const peer = await startPeer(toSmallCredit(64))
    const harness = startHarness(peer, { ...PATIENT, engine, connections: 1 })
    const body = Buffer.alloc(MEBIBYTE)
    const calls = Array.from({ length: 20 }, () => ask(harness, 'POST /aborted', { body }))
    await peer.waitFor(() => peer.requests.some(({ length }) => length > 0))
    for (const call of calls) call.controller?.abort()
    await Promise.all(calls.map(({ settled }) => settled))
    expect(await toOutcomes([ask(harness, 'POST /next')])).toEqual(['4'])
    expect(peer.connections).toHaveLength(1)
  })
})
