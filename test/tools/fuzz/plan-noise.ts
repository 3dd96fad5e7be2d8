/** The frames of a peer beside its responses: frames of the connection, and floods. */

import { ERROR_CODES, Flag, frames, MAX_STREAM_ID, Setting, Type } from '../../../src/testing/frames.ts'
import type { Random } from '../../protocol/hpack/support.ts'
import { CANCEL, NO_ERROR } from '../../support/peers/error-codes.ts'

const { frame } = frames

/** One or a few frames of a connection. */
export function toNoise(random: Random): Buffer[] {
  const streamId = random.pick([1, 1, 3, 5, 7])
  switch (random.below(14)) {
    case 0:
      // The limit goes away, and comes back.
      return [
        frames.settings([Setting.MAX_CONCURRENT_STREAMS, 0]),
        frames.settings([Setting.MAX_CONCURRENT_STREAMS, random.pick([1, 10])]),
      ]
    case 1:
      return [frames.settings([Setting.INITIAL_WINDOW_SIZE, random.pick([0, 10, 65_535, 100_000])])]
    case 2:
      return [frames.settings([Setting.HEADER_TABLE_SIZE, random.pick([0, 100, 4_096])])]
    case 3:
      return [frames.ping(Buffer.from('fuzzfuzz'))]
    case 4:
      return [frames.ping(Buffer.alloc(8), Flag.ACK)]
    case 5:
      return [toGoAway(random)]
    case 6:
      // The two steps of a graceful shutdown (RFC 9113 §6.8).
      return [frames.goAway(MAX_STREAM_ID, NO_ERROR), toGoAway(random)]
    case 7:
      return [frames.windowUpdate(0, random.pick([1, 65_535, MAX_STREAM_ID]))]
    case 8:
      return [frames.windowUpdate(streamId, random.pick([1, 65_535, MAX_STREAM_ID]))]
    case 9:
      return [frame(0xbe, 0xff, random.pick([0, 1]), Buffer.from('unknown'))]
    case 10:
      return [frame(Type.PUSH_PROMISE, Flag.END_HEADERS, streamId, Buffer.from([0, 0, 0, 2, 0x82]))]
    case 11:
      return [frames.reset(streamId, random.below(ERROR_CODES.length + 1))]
    case 12:
      return [frames.settingsAck()]
    default:
      return [frame(Type.PRIORITY, 0, streamId, Buffer.from([0, 0, 0, 1, 7]))]
  }
}

function toGoAway(random: Random): Buffer {
  return frames.goAway(
    random.pick([0, 1, 3, 5, 7, MAX_STREAM_ID]),
    random.pick([0, 0, 0, 1, 2, 7, 8, 11, 13]),
    random.pick(['', 'bye', 'too_many_pings']),
  )
}

/** Very many frames of one kind (CVE-2019-9511 and its like). */
export function toFlood(random: Random): Buffer[] {
  const length = random.pick([300, 1_500, 5_000])
  const one = random.pick([
    () => frames.ping(),
    () => frames.settings(),
    () => frames.data(1, ''),
    () => frames.windowUpdate(0, 1),
    () => frames.windowUpdate(1, 1),
    () => frames.reset(1, CANCEL),
    () => frame(Type.PRIORITY, 0, 1, Buffer.from([0, 0, 0, 3, 7])),
    () => frame(Type.CONTINUATION, 0, 1, Buffer.from([0])),
    () => frames.headers(1, [[':status', '103']]),
    () => frames.goAway(MAX_STREAM_ID, NO_ERROR),
    () => frame(0xbe, 0, 0),
    () => frames.data(1, 'x'),
    () => frames.settings([Setting.INITIAL_WINDOW_SIZE, 10], [Setting.HEADER_TABLE_SIZE, 10]),
  ])
  return Array.from({ length }, one)
}
