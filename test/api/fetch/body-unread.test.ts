/** Bodies that are not read: their peer is held back, and no sibling is. */

import { describe, expect, it } from 'vitest'
import type { FaultStream } from '../../../src/testing/fault-stream.ts'
import { CANCEL } from '../../support/peers/error-codes.ts'
import type { Tap } from './body-support.ts'
import { tapped } from './body-support.ts'
import type { Rig } from './body-support-rig.ts'
import { startRig } from './body-support-rig.ts'

const WINDOW = 131_072
const LARGE = Buffer.alloc(8 * 1_048_576, 'abcdefgh')

/** Bytes that are taken beyond a window while a body is not read: its own 64 KiB, and those between two layers. */
const AHEAD = 2 * 65_536

/** Serves LARGE, or a word for the path `/small`. */
async function start(options = {}): Promise<{ rig: Rig; taps: Tap[] }> {
  const taps: Tap[] = []
  const rig = await startRig(
    tapped((stream, tap) => {
      if (!taps.includes(tap)) taps.push(tap)
      tap.pour(stream, stream.path.startsWith('/small') ? Buffer.from('small') : LARGE)
    }),
    { initialWindowSize: WINDOW, ...options },
  )
  return { rig, taps }
}

function only<T>(list: readonly T[]): T {
  const [first] = list
  if (first === undefined || list.length > 1) throw new Error(`There are ${list.length}`)
  return first
}

async function toBlocked(
  { rig, taps }: { rig: Rig; taps: Tap[] },
  path: string,
): Promise<[FaultStream, number]> {
  const stream = await rig.arrived(path)
  return [stream, await only(taps).blockedAt(stream)]
}

describe('when a large body is not read', () => {
  it('no more bytes are taken than the window and the buffer of the body', async () => {
    const scene = await start()
    const response = await scene.rig.get('/large')
    const [, sent] = await toBlocked(scene, '/large')
    expect(sent).toBeGreaterThanOrEqual(WINDOW)
    expect(sent).toBeLessThanOrEqual(WINDOW + AHEAD)
    expect(response.bodyUsed).toBe(false)
  })

  it('a late reader gets all of it', async () => {
    const scene = await start()
    const response = await scene.rig.get('/large')
    await toBlocked(scene, '/large')
    const bytes = Buffer.from(await response.arrayBuffer())
    expect(bytes.equals(LARGE)).toBe(true)
  })

  it('its siblings on the session are served, large ones too', async () => {
    const scene = await start({ connectionWindowSize: WINDOW })
    const unread = await Promise.all([1, 2, 3].map((number) => scene.rig.get(`/large/${number}`)))
    for (const number of [1, 2, 3]) await toBlocked(scene, `/large/${number}`)
    const sibling = await scene.rig.get('/large/read')
    expect((await sibling.arrayBuffer()).byteLength).toBe(LARGE.length)
    expect(scene.rig.peer.connections.length).toBe(1)
    await Promise.all(unread.map((response) => response.body?.cancel()))
  })

  it('cancelling it resets the stream, and gives the credit back', async () => {
    const scene = await start({ connectionWindowSize: WINDOW })
    const response = await scene.rig.get('/large')
    await toBlocked(scene, '/large')
    await response.body?.cancel()
    expect(await scene.rig.resetOf('/large')).toBe(CANCEL)
    expect(scene.rig.calls).toEqual({ running: 0, pending: 0 })
    await scene.rig.roundTrip()
    expect(only(scene.taps).window).toBeGreaterThan(WINDOW / 2)
    expect((await (await scene.rig.get('/large/after')).bytes()).length).toBe(LARGE.length)
  })
})

describe('when a small body is not read', () => {
  it('it is whole, and its call has left the session', async () => {
    const scene = await start()
    const response = await scene.rig.get('/small')
    await scene.rig.arrived('/small')
    await scene.rig.roundTrip()
    expect(scene.rig.calls).toEqual({ running: 0, pending: 0 })
    expect(await response.text()).toBe('small')
  })

  it('cancelling it resets nothing', async () => {
    const scene = await start()
    const response = await scene.rig.get('/small')
    await scene.rig.roundTrip()
    await response.body?.cancel()
    await scene.rig.roundTrip()
    expect(scene.rig.peer.request('/small').resetCode).toBe(null)
  })

  it('hundreds of them take no stream of the session', async () => {
    const scene = await start()
    const paths = Array.from({ length: 300 }, (_, i) => `/small/${i}`)
    const responses = await Promise.all(paths.map((path) => scene.rig.get(path)))
    await scene.rig.roundTrip()
    expect(scene.rig.calls).toEqual({ running: 0, pending: 0 })
    expect(await Promise.all(responses.map((response) => response.text()))).toEqual(paths.map(() => 'small'))
  })
})
