import { describe, expect, it, vi } from 'vitest'
import { Type } from '../../src/testing/frames.ts'
import { Rig } from './support/rig.ts'

/** RFC 9113 §5.1.1. */
const MAX_STREAM_ID = 2 ** 31 - 1

// A billion streams would take hours: the table of this file's connections begins at the end.
vi.mock('../../src/protocol/stream-table.ts', async (importOriginal) => {
  const { StreamTable } = await importOriginal<typeof import('../../src/protocol/stream-table.ts')>()
  class OldTable extends StreamTable {
    constructor() {
      super(2 ** 31 - 1 - 4)
    }
  }
  return { StreamTable: OldTable }
})

describe('the stream ids of a connection', () => {
  it('when they run out › are used up to the last one, and the connection opens no further stream', () => {
    const old = new Rig()
    expect(old.http2.canTake).toBe(true)
    expect(old.open().id).toBe(MAX_STREAM_ID - 2)
    expect(old.http2.canTake).toBe(true)
    expect(old.open().id).toBe(MAX_STREAM_ID)
    expect(old.http2.canTake).toBe(false)
    const sent = old.take().filter(({ type }) => type === Type.HEADERS)
    expect(sent.map(({ streamId }) => streamId)).toEqual([MAX_STREAM_ID - 2, MAX_STREAM_ID])
  })
})
