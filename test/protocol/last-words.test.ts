import { describe, expect, it } from 'vitest'
import { ErrorCode } from '../../src/errors/error-codes.ts'
import { Flag, frames, Type } from '../../src/testing/frames.ts'
import { fuzzOnce, toCounts } from './support/fuzz.ts'
import { HAND_MADE } from './support/recording.ts'
import { Rig } from './support/rig.ts'

/** DATA on stream 0 (RFC 9113 §6.1). */
const BREACH = frames.frame(Type.DATA, 0, 0, Buffer.from('x'))

const DEFAULT_WINDOW = 65_535

/** A connection with an upload that waits for its turn, and a response that lies unread. */
function startBusy() {
  const rig = new Rig()
  const upload = rig.open({ hasBody: true })
  const download = rig.open({ reading: 'holds' })
  rig.take()
  rig.receive(frames.settings(), frames.response(download.id), frames.data(download.id, 'unread'))
  rig.take()
  rig.http2.send(upload, Buffer.alloc(2 * DEFAULT_WINDOW), true)
  return { rig, upload, download }
}

/** The types of all frames that are sent from now on, in turn. */
function toTypes(rig: Rig): number[] {
  return [...rig.take(), ...rig.take()].map(({ type }) => type)
}

describe('a connection whose peer has broken the protocol', () => {
  it('when data waits for its turn › sends GOAWAY, and no DATA', () => {
    const { rig } = startBusy()
    rig.receive(BREACH)
    expect(toTypes(rig)).toEqual([Type.GOAWAY])
    expect(rig.http2.hasUploads).toBe(false)
  })

  it('when frames are already queued › sends these first', () => {
    const { rig } = startBusy()
    rig.http2.ping(() => {})
    rig.receive(BREACH)
    expect(toTypes(rig)).toEqual([Type.PING, Type.GOAWAY])
  })

  it.each([
    ['resets a stream', ({ rig, upload }) => rig.http2.reset(upload, ErrorCode.CANCEL)],
    ['opens a stream', ({ rig }) => rig.open()],
    ['ends with trailers', ({ rig, upload }) => rig.http2.sendTrailers(upload, ['x-end', '1'])],
    ['gives credit', ({ rig, download }) => rig.http2.flow.release(download, download.held)],
    ['asks for a PING', ({ rig }) => rig.http2.ping(() => {})],
    ['announces a window', ({ rig }) => rig.setStreamWindow(1)],
    ['changes a priority', ({ rig, upload }) => rig.http2.reprioritize(upload, 'u=1')],
    ['says goodbye', ({ rig }) => rig.http2.goaway()],
  ] satisfies [
    string,
    (scene: ReturnType<typeof startBusy>) => unknown,
  ][])('when its user %s behind that › sends GOAWAY alone, before and after a flush', (_what, act) => {
    const scene = startBusy()
    scene.rig.receive(BREACH)
    act(scene)
    expect(toTypes(scene.rig)).toEqual([Type.GOAWAY])
    act(scene)
    expect(toTypes(scene.rig)).toEqual([])
  })

  it('when more bytes come in the same read › ignores them', () => {
    const { rig, download } = startBusy()
    rig.receive(Buffer.concat([BREACH, frames.ping(), frames.data(download.id, 'late', Flag.END_STREAM)]))
    expect(toTypes(rig)).toEqual([Type.GOAWAY])
    expect(download.text).toBe('unread')
  })

  it('when the fuzzer plays the seed that found DATA after GOAWAY › sends nothing after GOAWAY', () => {
    const counts = toCounts()
    fuzzOnce([HAND_MADE], 776_931_106, counts)
    expect(counts.faults.size).toBe(1)
  })
})
