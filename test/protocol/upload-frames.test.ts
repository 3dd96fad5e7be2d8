import { describe, expect, it } from 'vitest'
import { frames, Setting, Type } from '../../src/testing/frames.ts'
import { Rig } from './support/rig.ts'

const SLICE = 65_536
const FRAME = 16_384
const WIDE = 2 ** 24

/** A peer that takes all there is, in frames of up to so many bytes. */
function start(maxFrameSize: number): Rig {
  const rig = new Rig()
  rig.receive(
    frames.settings([Setting.INITIAL_WINDOW_SIZE, WIDE], [Setting.MAX_FRAME_SIZE, maxFrameSize]),
    frames.windowUpdate(0, WIDE),
  )
  return rig
}

/** Frames so much at a time until nothing is left. @returns the sizes of DATA frames */
function pump(rig: Rig, limit: number): number[] {
  const sizes: number[] = []
  for (let before = -1; sizes.length > before; ) {
    before = sizes.length
    const data = rig.take(limit).filter(({ type }) => type === Type.DATA)
    sizes.push(...data.map(({ payload }) => payload.length))
  }
  return sizes
}

describe('the DATA frames of an upload', () => {
  it.each([
    { maxFrameSize: FRAME, expected: Array.from({ length: 4 }, () => FRAME) },
    { maxFrameSize: 30_000, expected: [30_000, 30_000, SLICE - 60_000] },
    { maxFrameSize: 2 ** 20, expected: [SLICE] },
  ])('when a slice is just as large, and frames have up to $maxFrameSize bytes › leaves no crumbs', ({
    maxFrameSize,
    expected,
  }) => {
    const rig = start(maxFrameSize)
    rig.http2.send(rig.open({ hasBody: true }), Buffer.alloc(SLICE), false)
    expect(pump(rig, SLICE)).toEqual(expected)
  })

  it('when one slice follows another › are all of full size', () => {
    const rig = start(FRAME)
    const stream = rig.open({ hasBody: true })
    const sizes: number[] = []
    for (let slices = 0; slices < 16; slices++) {
      rig.http2.send(stream, Buffer.alloc(SLICE), false)
      sizes.push(...pump(rig, SLICE))
    }
    expect(sizes).toEqual(Array.from({ length: 64 }, () => FRAME))
  })
})
