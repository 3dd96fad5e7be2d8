import { describe, expect, test } from 'vitest'
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

/** Just so many bytes may come in all. */
function expectAllowance({ socket, bytes }: ReturnType<typeof setUp>, allowed: number): void {
  socket.bytesRead += allowed
  expect(bytes.areTooMany()).toBe(false)
  socket.bytesRead += 1
  expect(bytes.areTooMany()).toBe(true)
}

describe('UselessBytes', () => {
  test('allow a mebibyte, and 64 KiB more for each second', () => {
    expectAllowance(setUp(), BURST)
    const later = setUp()
    later.clock.now += 2_000
    expectAllowance(later, BURST + 131_072)
  })

  test.each<[string, number, (bytes: UselessBytes) => void]>([
    ['a piece of data', 1_000 + 9 + 256, (bytes) => bytes.onData(1_000)],
    ['a piece of one byte, with its padding', 1 + 9 + 256, (bytes) => bytes.onData(1)],
    ['a header section', SECTION, (bytes) => bytes.onHeaderSection()],
    [
      'data that is under way for a stream that was cut off',
      WINDOW + SECTION,
      (bytes) => bytes.onCutOff(WINDOW),
    ],
  ])('allow %s', (_name, size, come) => {
    const scene = setUp()
    come(scene.bytes)
    expectAllowance(scene, BURST + size)
  })

  test('allow two WINDOW_UPDATEs for each byte of ours', () => {
    const scene = setUp()
    scene.socket.bytesWritten += 1_000
    expectAllowance(scene, BURST + 26_000)
  })

  test('do not count what the socket has read and written before', () => {
    expectAllowance(setUp({ bytesRead: 10 * BURST, bytesWritten: BURST }), BURST)
  })
})
