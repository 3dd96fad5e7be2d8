import { describe, expect, it } from 'vitest'
import type { OpenUpload } from '../../../src/session/node/node-send-window.ts'
import { NodeSendWindow } from '../../../src/session/node/node-send-window.ts'

/** The connection window that a server opens with (RFC 9113 §6.9.2). */
const WINDOW = 65_535

/** A session with a window as node:http2 tells it, and bodies as node has taken and sent them. */
function setUp() {
  const state = { remoteWindowSize: WINDOW }
  const window = new NodeSendWindow({ state })
  const open = (written: number, sent = written) => {
    const upload = { written: 0, flushed: 0 }
    window.add(upload)
    write(upload, written, sent)
    return upload
  }
  const write = (
    upload: { -readonly [Key in keyof OpenUpload]: OpenUpload[Key] },
    written: number,
    sent: number,
  ) => {
    upload.written += written
    upload.flushed += sent
    state.remoteWindowSize -= sent
  }
  return { window, state, open, write }
}

describe('the send window of engine node', () => {
  it('is open while open streams have used it', () => {
    const { window, open } = setUp()
    open(WINDOW + 1, WINDOW)
    expect(window.isShut).toBe(false)
  })

  it.each([
    { size: 49_151, isWhole: true, isShut: false },
    { size: 49_152, isWhole: true, isShut: true },
    // nghttp2 keeps as much until it returns credit.
    { size: 32_767, isWhole: false, isShut: false },
    { size: 32_768, isWhole: false, isShut: true },
  ])('is shut: $isShut when a body of $size octets has ended, as a whole: $isWhole', ({
    size,
    isWhole,
    isShut,
  }) => {
    const { window, state, open } = setUp()
    const upload = open(size)
    window.delete(upload, isWhole)
    expect(window.isShut).toBe(isShut)
    state.remoteWindowSize = WINDOW
    expect(window.isShut).toBe(false)
  })

  it('is shut when node may send what it has of a body that is cut, and no more would be left', () => {
    const { window, state, open, write } = setUp()
    const [sent, waiting] = [open(30_000), open(32_000, 0)]
    window.leave(sent)
    window.delete(sent, false)
    // 35,535 octets are left, which is enough for an upload.
    expect(window.isShut).toBe(false)
    window.leave(waiting)
    expect(window.isShut).toBe(true)
    // One that was begun before, and stands behind it.
    open(40_000, 3_535)
    write(waiting, 0, 32_000)
    expect([state.remoteWindowSize, window.isShut]).toEqual([0, true])
    window.delete(waiting, false)
    expect(window.isShut).toBe(true)
    state.remoteWindowSize = 62_000
    expect(window.isShut).toBe(false)
  })

  it('is open again when RST_STREAM was sent in place of what waited', () => {
    const { window, open } = setUp()
    const waiting = open(60_000, 20_000)
    window.leave(waiting)
    expect(window.isShut).toBe(true)
    window.delete(waiting, false)
    expect(window.isShut).toBe(false)
  })

  it('counts a stream once, however often its end is told', () => {
    const { window, open } = setUp()
    const upload = open(20_000)
    for (let time = 0; time < 3; time++) {
      window.leave(upload)
      window.delete(upload, false)
    }
    const other = open(WINDOW - 20_000)
    expect(window.isShut).toBe(false)
    window.delete(other, false)
    expect(window.isShut).toBe(true)
  })

  it.each([undefined, null, {}])('is open when node tells none: %o', (state) => {
    // A session that is destroyed has an empty state, or none on Bun.
    const window = new NodeSendWindow({ state } as ConstructorParameters<typeof NodeSendWindow>[0])
    const upload = { written: WINDOW, flushed: WINDOW }
    window.add(upload)
    window.delete(upload, true)
    expect(window.isShut).toBe(false)
  })
})
