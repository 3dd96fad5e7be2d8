/**
 * How a POST ends that meets what a fault server has a name for: class, HTTP/2 code, processed. On engine node in this
 * line of Node; on engine wire in all.
 */

import type { BadFrame } from '../../src/testing/bad-frames.ts'
import type { BadHeaders } from '../../src/testing/bad-headers.ts'
import type { Flood } from '../../src/testing/floods.ts'
import type { HeaderBomb } from '../../src/testing/header-bombs.ts'

/** On each engine. */
export interface Ends {
  readonly node: string
  readonly wire: string
}

/** node:http2 of Node 20 falls silent where later lines end the connection. */
const isSilent = process.versions.node.startsWith('20.')

const LOST = 'SocketError - maybe'
const LOST_WITHIN = 'SocketError - yes'
const LATE = 'HeadersTimeoutError - maybe'
const MALFORMED = { node: 'StreamError PROTOCOL_ERROR maybe', wire: 'StreamError PROTOCOL_ERROR yes' }
const SILENT = isSilent ? LATE : LOST
const PROTOCOL = 'SocketError PROTOCOL_ERROR maybe'
const SIZE = 'SocketError FRAME_SIZE_ERROR maybe'
const CALM = 'SocketError ENHANCE_YOUR_CALM maybe'
const CALM_WITHIN = 'SocketError ENHANCE_YOUR_CALM yes'

export const OF_FRAMES: Readonly<Record<BadFrame, Ends>> = {
  'DATA on stream 0': { node: SILENT, wire: PROTOCOL },
  'HEADERS on stream 0': { node: LOST, wire: PROTOCOL },
  'PRIORITY on stream 0': { node: isSilent ? LOST : LATE, wire: PROTOCOL },
  'RST_STREAM on stream 0': { node: LOST, wire: PROTOCOL },
  'CONTINUATION on stream 0': { node: SILENT, wire: PROTOCOL },
  'SETTINGS on a stream': { node: LOST, wire: PROTOCOL },
  'PING on a stream': { node: LOST, wire: PROTOCOL },
  'GOAWAY on a stream': { node: LOST, wire: PROTOCOL },
  'DATA on an idle stream': { node: SILENT, wire: PROTOCOL },
  'HEADERS on an idle stream': { node: LOST, wire: PROTOCOL },
  'HEADERS on a stream of the server': { node: LOST, wire: PROTOCOL },
  'RST_STREAM on an idle stream': { node: LOST, wire: PROTOCOL },
  'WINDOW_UPDATE on an idle stream': { node: LOST, wire: PROTOCOL },
  'DATA ahead of HEADERS': { node: SILENT, wire: 'StreamError PROTOCOL_ERROR yes' },
  'DATA behind END_STREAM': { node: '200', wire: '200' },
  'HEADERS behind END_STREAM': { node: '200', wire: '200' },
  'a second HEADERS without END_STREAM': {
    node: 'StreamError PROTOCOL_ERROR yes',
    wire: 'StreamError PROTOCOL_ERROR yes',
  },
  'trailers with :status': { node: 'StreamError PROTOCOL_ERROR yes', wire: 'StreamError PROTOCOL_ERROR yes' },
  'an informational response with END_STREAM': MALFORMED,
  'CONTINUATION without HEADERS': { node: SILENT, wire: PROTOCOL },
  'another frame within a header block': { node: SILENT, wire: PROTOCOL },
  'CONTINUATION on another stream': { node: SILENT, wire: PROTOCOL },
  'WINDOW_UPDATE of 0 on the connection': { node: LOST, wire: PROTOCOL },
  'WINDOW_UPDATE of 0 on a stream': { node: LOST, wire: 'StreamError PROTOCOL_ERROR maybe' },
  'WINDOW_UPDATE past the limit on the connection': {
    node: LOST,
    wire: 'SocketError FLOW_CONTROL_ERROR maybe',
  },
  'WINDOW_UPDATE past the limit on a stream': { node: LOST, wire: 'StreamError FLOW_CONTROL_ERROR maybe' },
  'WINDOW_UPDATE of 3 octets': { node: SILENT, wire: SIZE },
  'SETTINGS of 5 octets': { node: SILENT, wire: SIZE },
  'SETTINGS with ACK and a payload': { node: SILENT, wire: SIZE },
  'PING of 7 octets': { node: SILENT, wire: SIZE },
  'RST_STREAM of 3 octets': { node: SILENT, wire: SIZE },
  'PRIORITY of 4 octets': { node: SILENT, wire: 'StreamError FRAME_SIZE_ERROR maybe' },
  'GOAWAY of 7 octets': { node: SILENT, wire: SIZE },
  'a frame above SETTINGS_MAX_FRAME_SIZE': { node: LOST_WITHIN, wire: 'SocketError FRAME_SIZE_ERROR yes' },
  'padding longer than its frame': { node: LOST_WITHIN, wire: 'SocketError PROTOCOL_ERROR yes' },
  'padding without its length': { node: LOST_WITHIN, wire: 'SocketError FRAME_SIZE_ERROR yes' },
  'INITIAL_WINDOW_SIZE above 2^31-1': { node: LOST, wire: 'SocketError FLOW_CONTROL_ERROR maybe' },
  'MAX_FRAME_SIZE of 1': { node: LOST, wire: PROTOCOL },
  'ENABLE_PUSH of 1': { node: LOST, wire: PROTOCOL },
  'ENABLE_CONNECT_PROTOCOL of 2': { node: LOST, wire: PROTOCOL },
  'GOAWAY with a higher last stream': { node: LOST, wire: PROTOCOL },
}

export const OF_HEADERS: Readonly<Record<BadHeaders, Ends>> = {
  'no :status': MALFORMED,
  ':status twice': MALFORMED,
  ':status of 99': MALFORMED,
  ':status of letters': MALFORMED,
  ':status behind a field': MALFORMED,
  'a pseudo-header field of requests': MALFORMED,
  'an unknown pseudo-header field': MALFORMED,
  'a name in upper case': MALFORMED,
  'an empty name': { node: '200', wire: 'StreamError PROTOCOL_ERROR yes' },
  'a name with a space': { node: '200', wire: 'StreamError PROTOCOL_ERROR yes' },
  'a value with a line feed': { node: '200', wire: 'StreamError PROTOCOL_ERROR yes' },
  'a value with a NUL': { node: '200', wire: 'StreamError PROTOCOL_ERROR yes' },
  'a value with a space ahead': {
    node: isSilent ? '200' : 'StreamError PROTOCOL_ERROR yes',
    wire: 'StreamError PROTOCOL_ERROR yes',
  },
  connection: MALFORMED,
  'transfer-encoding': MALFORMED,
  'content-length twice, unlike': MALFORMED,
  'content-length of letters': MALFORMED,
  '101 Switching Protocols': MALFORMED,
  'HPACK: index 0': { node: SILENT, wire: 'SocketError COMPRESSION_ERROR maybe' },
  'HPACK: an index beyond the tables': { node: SILENT, wire: 'SocketError COMPRESSION_ERROR maybe' },
  'HPACK: an integer without an end': { node: SILENT, wire: 'SocketError COMPRESSION_ERROR maybe' },
  'HPACK: a string that is cut off': { node: SILENT, wire: 'SocketError COMPRESSION_ERROR maybe' },
  'HPACK: EOS in a string': { node: SILENT, wire: 'SocketError COMPRESSION_ERROR maybe' },
  'HPACK: padding of zeros': { node: SILENT, wire: 'SocketError COMPRESSION_ERROR maybe' },
  'HPACK: padding of eight bits': { node: SILENT, wire: 'SocketError COMPRESSION_ERROR maybe' },
  'HPACK: a table above the limit': { node: SILENT, wire: 'SocketError COMPRESSION_ERROR maybe' },
  'HPACK: a table size behind a field': { node: SILENT, wire: 'SocketError COMPRESSION_ERROR maybe' },
}

export const OF_BOMBS: Readonly<Record<HeaderBomb, Ends>> = {
  references: { node: 'StreamError ENHANCE_YOUR_CALM maybe', wire: 'HeadersOverflowError - yes' },
  'many fields': { node: LOST, wire: CALM },
  'long field': { node: SILENT, wire: 'HeadersOverflowError - yes' },
}

export const OF_FLOODS: Readonly<Record<Flood, Ends>> = {
  SETTINGS: { node: LOST, wire: CALM },
  'SETTINGS that change windows': { node: LOST, wire: CALM },
  'SETTINGS that change the table': { node: LOST, wire: CALM },
  PING: { node: LOST, wire: CALM },
  'ACKs of PINGs': { node: LOST, wire: CALM },
  'empty DATA': { node: LOST_WITHIN, wire: CALM_WITHIN },
  'DATA of padding alone': { node: isSilent ? CALM_WITHIN : LOST_WITHIN, wire: CALM_WITHIN },
  'DATA of 1 byte': { node: 'BodyTimeoutError - yes', wire: 'BodyTimeoutError - yes' },
  'DATA of 1 byte between junk': { node: CALM_WITHIN, wire: 'BodyTimeoutError - yes' },
  PRIORITY: { node: isSilent ? CALM : LOST, wire: CALM },
  WINDOW_UPDATE: { node: CALM, wire: CALM },
  RST_STREAM: { node: 'StreamError CANCEL maybe', wire: 'StreamError CANCEL maybe' },
  GOAWAY: { node: LOST, wire: CALM },
  'unknown frames, small': { node: isSilent ? CALM : LOST, wire: CALM },
  'unknown frames, large': { node: CALM, wire: LATE },
  PUSH_PROMISE: { node: LOST, wire: PROTOCOL },
  'empty CONTINUATION': { node: LOST, wire: CALM },
  CONTINUATION: { node: 'StreamError ENHANCE_YOUR_CALM maybe', wire: CALM },
  'informational responses': { node: 'HeadersCountError - yes', wire: 'HeadersCountError - yes' },
}
