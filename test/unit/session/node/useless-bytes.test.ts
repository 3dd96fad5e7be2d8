import { describe, expect, it } from 'vitest'
import { UselessBytes } from '../../../../src/session/node/useless-bytes.ts'

/** What a connection may have had before any time has passed. Bytes. */
const BURST = 1_048_576
const FRAME_SIZE = 16_384
const SECTION = 9 * FRAME_SIZE
const WINDOW = 16_777_216

function setUp(before = { bytesRead: 0, bytesWritten: 0 }) {
  const socket = { ...before }
  const clock = { now: 5_000 }
  return { socket, clock, bytes: new UselessBytes(socket, () => clock.now, FRAME_SIZE) }
}

type Scene = ReturnType<typeof setUp>

/** Just so many bytes may come before the next look. */
function expectAllowance({ socket, bytes }: Scene, allowed: number): void {
  socket.bytesRead += allowed
  expect(bytes.lookForTooMany()).toBe(false)
  socket.bytesRead += 1
  expect(bytes.lookForTooMany()).toBe(true)
}

/** Looks, each half a second after the last one. @returns after how many of them too many had come, `null` if never */
function lookOften({ clock, bytes }: Scene, looks: number, between: () => void): number | null {
  for (let look = 1; look <= looks; look++) {
    between()
    clock.now += 500
    if (bytes.lookForTooMany()) return look
  }
  return null
}

describe('UselessBytes', () => {
  it('allow a mebibyte, and 64 KiB more for each second', () => {
    expectAllowance(setUp(), BURST)
    const later = setUp()
    later.clock.now += 2_000
    expectAllowance(later, BURST + 131_072)
  })

  it.each<[string, number, (bytes: UselessBytes) => void]>([
    ['a piece of data', 1_000 + 9 + 256, (bytes) => bytes.onData(1_000)],
    ['a piece of one byte, with its padding', 1 + 9 + 256, (bytes) => bytes.onData(1)],
    ['a header section', SECTION, (bytes) => bytes.onHeaderSection()],
    [
      'data that is under way for a stream that was cut off',
      WINDOW + SECTION,
      (bytes) => bytes.onMissingEnd(WINDOW),
    ],
    [
      'as much of it as a window that is larger than the limit',
      16 * WINDOW + SECTION,
      (bytes) => bytes.onMissingEnd(16 * WINDOW),
    ],
    [
      'not more of it than 64 MiB otherwise',
      4 * WINDOW,
      (bytes) => {
        for (let streams = 0; streams < 10; streams++) bytes.onMissingEnd(WINDOW)
      },
    ],
  ])('allow %s', (_name, size, come) => {
    const scene = setUp()
    come(scene.bytes)
    expectAllowance(scene, BURST + size)
  })

  it('allow two WINDOW_UPDATEs for each byte of ours', () => {
    const scene = setUp()
    scene.socket.bytesWritten += 1_000
    expectAllowance(scene, BURST + 26_000)
  })

  it('do not count what the socket has read and written before', () => {
    expectAllowance(setUp({ bytesRead: 10 * BURST, bytesWritten: BURST }), BURST)
  })

  it('allow 64 KiB a second for ever, and no more', () => {
    const scene = setUp()
    const come = (perLook: number) => () => {
      scene.socket.bytesRead += perLook
    }
    expect(lookOften(scene, 20_000, come(32_768))).toBe(null)
    expect(lookOften(scene, 100, come(65_536))).toBe(33)
  })

  it.each<[string, (scene: Scene) => void]>([
    ['an hour of quiet', () => {}],
    [
      'an hour of responses',
      ({ socket, bytes }) => {
        socket.bytesRead += 10_000
        bytes.onHeaderSection()
        bytes.onData(9_000)
      },
    ],
  ])('allow no more after %s than in the beginning', (_name, between) => {
    const scene = setUp()
    expect(lookOften(scene, 7_200, () => between(scene))).toBe(null)
    expectAllowance(scene, BURST)
  })

  it.each<[string, (scene: Scene) => void]>([
    ['what was under way', ({ bytes }) => bytes.onMissingEnd(WINDOW)],
    [
      'what our bytes bring back',
      ({ socket, bytes }) => {
        socket.bytesWritten += 1_000_000
        bytes.lookForTooMany()
      },
    ],
  ])('expect %s for a minute', (_name, come) => {
    const scene = setUp()
    come(scene)
    scene.clock.now += 60_001
    expect(scene.bytes.lookForTooMany()).toBe(false)
    expectAllowance(scene, BURST)
  })
})
