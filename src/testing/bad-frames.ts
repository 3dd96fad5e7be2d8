/**
 * Frames that RFC 9113 forbids, by name.
 *
 * @module
 */

import { Flag, frames, Setting, Type } from './frames.ts'

const { frame } = frames
const STATUS_200 = Buffer.of(0x88)
/** A stream that no client has opened yet: the highest odd id. */
const IDLE = 2 ** 31 - 1
/** A stream that the server would have to announce first. */
const UNANNOUNCED = 2 ** 31 - 2
const MAX_WINDOW = 2 ** 31 - 1
/** Larger than a client allows by default. */
const TOO_LARGE = 16_385

/** The name of a bad frame. */
export type BadFrame =
  | 'DATA on stream 0'
  | 'HEADERS on stream 0'
  | 'PRIORITY on stream 0'
  | 'RST_STREAM on stream 0'
  | 'CONTINUATION on stream 0'
  | 'SETTINGS on a stream'
  | 'PING on a stream'
  | 'GOAWAY on a stream'
  | 'DATA on an idle stream'
  | 'HEADERS on an idle stream'
  | 'HEADERS on a stream of the server'
  | 'RST_STREAM on an idle stream'
  | 'WINDOW_UPDATE on an idle stream'
  | 'DATA ahead of HEADERS'
  | 'DATA behind END_STREAM'
  | 'HEADERS behind END_STREAM'
  | 'a second HEADERS without END_STREAM'
  | 'trailers with :status'
  | 'an informational response with END_STREAM'
  | 'CONTINUATION without HEADERS'
  | 'another frame within a header block'
  | 'CONTINUATION on another stream'
  | 'WINDOW_UPDATE of 0 on the connection'
  | 'WINDOW_UPDATE of 0 on a stream'
  | 'WINDOW_UPDATE past the limit on the connection'
  | 'WINDOW_UPDATE past the limit on a stream'
  | 'WINDOW_UPDATE of 3 octets'
  | 'SETTINGS of 5 octets'
  | 'SETTINGS with ACK and a payload'
  | 'PING of 7 octets'
  | 'RST_STREAM of 3 octets'
  | 'PRIORITY of 4 octets'
  | 'GOAWAY of 7 octets'
  | 'a frame above SETTINGS_MAX_FRAME_SIZE'
  | 'padding longer than its frame'
  | 'padding without its length'
  | 'INITIAL_WINDOW_SIZE above 2^31-1'
  | 'MAX_FRAME_SIZE of 1'
  | 'ENABLE_PUSH of 1'
  | 'ENABLE_CONNECT_PROTOCOL of 2'
  | 'GOAWAY with a higher last stream'

/**
 * The bytes of each, for a client's stream on which nothing has been sent yet. If the name says that a response has
 * ended, the frames themselves end it.
 */
export const BAD_FRAMES: Readonly<Record<BadFrame, (streamId: number) => Buffer>> = {
  'DATA on stream 0': () => frames.data(0, 'x'),
  'HEADERS on stream 0': () => frame(Type.HEADERS, Flag.END_HEADERS, 0, STATUS_200),
  'PRIORITY on stream 0': () => frame(Type.PRIORITY, 0, 0, Buffer.alloc(5)),
  'RST_STREAM on stream 0': () => frames.reset(0, 8),
  'CONTINUATION on stream 0': () => frame(Type.CONTINUATION, Flag.END_HEADERS, 0),
  'SETTINGS on a stream': (id) => frame(Type.SETTINGS, 0, id),
  'PING on a stream': (id) => frame(Type.PING, 0, id, Buffer.alloc(8)),
  'GOAWAY on a stream': (id) => frame(Type.GOAWAY, 0, id, Buffer.alloc(8)),
  'DATA on an idle stream': () => frames.data(IDLE, 'x'),
  'HEADERS on an idle stream': () => frames.response(IDLE),
  'HEADERS on a stream of the server': () => frames.response(UNANNOUNCED),
  'RST_STREAM on an idle stream': () => frames.reset(IDLE, 8),
  'WINDOW_UPDATE on an idle stream': () => frames.windowUpdate(IDLE, 1),
  'DATA ahead of HEADERS': (id) => frames.data(id, 'x'),
  'DATA behind END_STREAM': (id) =>
    Buffer.concat([frames.response(id, Flag.END_STREAM), frames.data(id, 'x', Flag.END_STREAM)]),
  'HEADERS behind END_STREAM': (id) =>
    Buffer.concat([frames.response(id, Flag.END_STREAM), frames.response(id, Flag.END_STREAM)]),
  'a second HEADERS without END_STREAM': (id) =>
    Buffer.concat([frames.response(id), frames.headers(id, [['x', '1']])]),
  'trailers with :status': (id) =>
    Buffer.concat([frames.response(id), frames.headers(id, [[':status', '200']], Flag.END_STREAM)]),
  'an informational response with END_STREAM': (id) =>
    frames.headers(id, [[':status', '103']], Flag.END_STREAM),
  'CONTINUATION without HEADERS': (id) => frame(Type.CONTINUATION, Flag.END_HEADERS, id, STATUS_200),
  'another frame within a header block': (id) =>
    Buffer.concat([frame(Type.HEADERS, 0, id, STATUS_200), frames.ping()]),
  'CONTINUATION on another stream': (id) =>
    Buffer.concat([
      frame(Type.HEADERS, 0, id, STATUS_200),
      frame(Type.CONTINUATION, Flag.END_HEADERS, id + 2),
    ]),
  'WINDOW_UPDATE of 0 on the connection': () => frames.windowUpdate(0, 0),
  'WINDOW_UPDATE of 0 on a stream': (id) => frames.windowUpdate(id, 0),
  'WINDOW_UPDATE past the limit on the connection': () => frames.windowUpdate(0, MAX_WINDOW),
  'WINDOW_UPDATE past the limit on a stream': (id) => frames.windowUpdate(id, MAX_WINDOW),
  'WINDOW_UPDATE of 3 octets': (id) => frame(Type.WINDOW_UPDATE, 0, id, Buffer.alloc(3, 1)),
  'SETTINGS of 5 octets': () => frame(Type.SETTINGS, 0, 0, Buffer.alloc(5)),
  'SETTINGS with ACK and a payload': () => frame(Type.SETTINGS, Flag.ACK, 0, Buffer.alloc(6)),
  'PING of 7 octets': () => frame(Type.PING, 0, 0, Buffer.alloc(7)),
  'RST_STREAM of 3 octets': (id) => frame(Type.RST_STREAM, 0, id, Buffer.alloc(3)),
  'PRIORITY of 4 octets': (id) => frame(Type.PRIORITY, 0, id, Buffer.alloc(4)),
  'GOAWAY of 7 octets': () => frame(Type.GOAWAY, 0, 0, Buffer.alloc(7)),
  'a frame above SETTINGS_MAX_FRAME_SIZE': (id) =>
    Buffer.concat([frames.response(id), frame(Type.DATA, 0, id, Buffer.alloc(TOO_LARGE))]),
  'padding longer than its frame': (id) =>
    Buffer.concat([frames.response(id), frame(Type.DATA, Flag.PADDED, id, Buffer.of(9, 0x78))]),
  'padding without its length': (id) =>
    Buffer.concat([frames.response(id), frame(Type.DATA, Flag.PADDED, id)]),
  'INITIAL_WINDOW_SIZE above 2^31-1': () => frames.settings([Setting.INITIAL_WINDOW_SIZE, 2 ** 31]),
  'MAX_FRAME_SIZE of 1': () => frames.settings([Setting.MAX_FRAME_SIZE, 1]),
  'ENABLE_PUSH of 1': () => frames.settings([Setting.ENABLE_PUSH, 1]),
  'ENABLE_CONNECT_PROTOCOL of 2': () => frames.settings([Setting.ENABLE_CONNECT_PROTOCOL, 2]),
  'GOAWAY with a higher last stream': (id) =>
    Buffer.concat([frames.goAway(id, 0), frames.goAway(MAX_WINDOW, 0)]),
}
