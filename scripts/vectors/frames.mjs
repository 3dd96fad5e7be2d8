/** The frames of our own vectors: octets by RFC 9113 §4.1 and §6, and what is in them, or the codes of their error (§7). */

const DATA = 0
const HEADERS = 1
const PRIORITY = 2
const RST_STREAM = 3
const SETTINGS = 4
const PUSH_PROMISE = 5
const PING = 6
const GOAWAY = 7
const WINDOW_UPDATE = 8
const CONTINUATION = 9

const ACK = 0x1
const END_STREAM = 0x1
const END_HEADERS = 0x4
const PADDED = 0x8
const PRIORITY_FLAG = 0x20

const PROTOCOL_ERROR = 1
const FLOW_CONTROL_ERROR = 3
const FRAME_SIZE_ERROR = 6

/** In octets. */
const HEAD_LENGTH = 9
/** The reserved bit before a stream id or an increment. */
const RESERVED = 0x80000000

/** @param {...number} octets */
const bytes = (...octets) => Buffer.from(octets)
/** @param {string} text */
const ascii = (text) => Buffer.from(text, 'latin1')
/** @param {...number} values */
const uint32 = (...values) => {
  const out = Buffer.alloc(4 * values.length)
  values.forEach((value, at) => {
    out.writeUInt32BE(value, 4 * at)
  })
  return out
}
/** @param {...[id: number, value: number]} settings */
const entries = (...settings) =>
  Buffer.concat(settings.map(([id, value]) => Buffer.concat([bytes(id >> 8, id & 0xff), uint32(value)])))
/** @param {number} length */
const zeros = (length) => Buffer.alloc(length)

/**
 * @param {number} type
 * @param {number} flags
 * @param {number} streamId
 * @param {...Buffer} payload
 */
function toWire(type, flags, streamId, ...payload) {
  const content = Buffer.concat(payload)
  const { length } = content
  const head = bytes(length >> 16, (length >> 8) & 0xff, length & 0xff, type, flags)
  return Buffer.concat([head, uint32(streamId), content]).toString('hex')
}

/**
 * @param {string} name
 * @param {string} description
 * @param {[type: number, flags: number, streamId: number]} head
 * @param {Buffer[]} payload
 * @param {Record<string, unknown>} fields what is in the payload
 */
function good(name, description, [type, flags, streamId], payload, fields) {
  const wire = toWire(type, flags, streamId, ...payload)
  const length = Buffer.concat(payload).length
  const stream_identifier = streamId % RESERVED
  const frame = { length, type, flags, stream_identifier, frame_payload: fields }
  return { name, description, wire, frame, error: null }
}

/**
 * @param {string} name
 * @param {string} description
 * @param {number | number[]} codes that may be said of it
 * @param {[type: number, flags: number, streamId: number]} head
 * @param {...Buffer} payload
 */
function bad(name, description, codes, [type, flags, streamId], ...payload) {
  const wire = toWire(type, flags, streamId, ...payload)
  return { name: `error/${name}`, description, wire, frame: null, error: [codes].flat() }
}

const FRAGMENT = 'not for a decoder'

const GOOD = () => [
  good('data/empty', '§6.1: without content', [DATA, 0, 1], [], { data: '' }),
  good('data/normal', '§6.1: padded', [DATA, PADDED, 3], [bytes(4), ascii('ciao'), zeros(4)], {
    data: 'ciao',
    padding_length: 4,
  }),
  good('data/end', '§6.1: the last of its stream', [DATA, END_STREAM, 1], [ascii('fine')], { data: 'fine' }),
  good(
    'data/padding-alone',
    '§6.1: padding and no content',
    [DATA, PADDED | END_STREAM, 5],
    [bytes(7), zeros(7)],
    {
      data: '',
      padding_length: 7,
    },
  ),
  good('data/no-padding', '§6.1: with the length of no padding', [DATA, PADDED, 1], [bytes(0), ascii('x')], {
    data: 'x',
    padding_length: 0,
  }),
  good('data/flags', '§4.1: flags without a meaning are ignored', [DATA, 0xf6, 1], [ascii('flags')], {
    data: 'flags',
  }),
  good('data/reserved', '§4.1: the reserved bit is ignored', [DATA, 0, RESERVED + 1], [ascii('bit')], {
    data: 'bit',
  }),
  good('headers/normal', '§6.2', [HEADERS, END_HEADERS, 1], [ascii(FRAGMENT)], {
    header_block_fragment: FRAGMENT,
  }),
  good(
    'headers/end',
    '§6.2: the last of its stream',
    [HEADERS, END_HEADERS | END_STREAM, 7],
    [ascii(FRAGMENT)],
    {
      header_block_fragment: FRAGMENT,
    },
  ),
  good(
    'headers/priority',
    '§6.2: padded, and with a priority',
    [HEADERS, END_HEADERS | PADDED | PRIORITY_FLAG, 3],
    [bytes(9), uint32(RESERVED + 1), bytes(255), ascii(FRAGMENT), zeros(9)],
    {
      header_block_fragment: FRAGMENT,
      padding_length: 9,
      exclusive: true,
      stream_dependency: 1,
      weight: 256,
    },
  ),
  good('headers/empty', '§6.2: a block of no octets', [HEADERS, END_HEADERS, 1], [], {
    header_block_fragment: '',
  }),
  good('priority/normal', '§6.3', [PRIORITY, 0, 3], [uint32(1), bytes(15)], {
    exclusive: false,
    stream_dependency: 1,
    weight: 16,
  }),
  good('rst_stream/normal', '§6.4', [RST_STREAM, 0, 1], [uint32(8)], { error_code: 8 }),
  good('rst_stream/unknown', '§7: with a code without a meaning', [RST_STREAM, 0, 1], [uint32(0xdeadbeef)], {
    error_code: 0xdeadbeef,
  }),
  good('settings/empty', '§6.5: of no entries', [SETTINGS, 0, 0], [], { settings: [] }),
  good(
    'settings/normal',
    '§6.5.2: each that a server may send, at its greatest',
    [SETTINGS, 0, 0],
    [
      entries(
        [1, 0xffffffff],
        [2, 0],
        [3, 0xffffffff],
        [4, 0x7fffffff],
        [5, 0xffffff],
        [6, 0xffffffff],
        [8, 1],
      ),
    ],
    {
      settings: [
        [1, 0xffffffff],
        [2, 0],
        [3, 0xffffffff],
        [4, 0x7fffffff],
        [5, 0xffffff],
        [6, 0xffffffff],
        [8, 1],
      ],
    },
  ),
  good(
    'settings/unknown',
    '§6.5.2: with identifiers without a meaning, and one twice',
    [SETTINGS, 0, 0],
    [entries([0, 1], [0x0a0a, 7], [3, 1], [3, 2])],
    {
      settings: [
        [0, 1],
        [0x0a0a, 7],
        [3, 1],
        [3, 2],
      ],
    },
  ),
  good('settings/ack', '§6.5.3', [SETTINGS, ACK, 0], [], { settings: [] }),
  good('push_promise/normal', '§6.6', [PUSH_PROMISE, END_HEADERS, 1], [uint32(2), ascii(FRAGMENT)], {
    promised_stream_id: 2,
    header_block_fragment: FRAGMENT,
  }),
  good('ping/normal', '§6.7', [PING, 0, 0], [ascii('12345678')], { opaque_data: '12345678' }),
  good('ping/ack', '§6.7', [PING, ACK, 0], [ascii('\0\0pong\0\0')], { opaque_data: '\0\0pong\0\0' }),
  good('goaway/normal', '§6.8', [GOAWAY, 0, 0], [uint32(5, 11), ascii('too much')], {
    last_stream_id: 5,
    error_code: 11,
    additional_debug_data: 'too much',
  }),
  good(
    'goaway/graceful',
    '§6.8: the first step of a graceful shutdown',
    [GOAWAY, 0, 0],
    [uint32(0xffffffff, 0)],
    {
      last_stream_id: 0x7fffffff,
      error_code: 0,
      additional_debug_data: '',
    },
  ),
  good('window_update/normal', '§6.9', [WINDOW_UPDATE, 0, 1], [uint32(65_535)], {
    window_size_increment: 65_535,
  }),
  good(
    'window_update/connection',
    '§6.9: of the connection, with the reserved bit',
    [WINDOW_UPDATE, 0, 0],
    [uint32(RESERVED + 1)],
    {
      window_size_increment: 1,
    },
  ),
  good('window_update/greatest', '§6.9', [WINDOW_UPDATE, 0, 1], [uint32(0x7fffffff)], {
    window_size_increment: 0x7fffffff,
  }),
  good(
    'continuation/normal',
    '§6.10: the first and the last octets are elsewhere',
    [CONTINUATION, 0, 3],
    [ascii('in between')],
    {
      header_block_fragment: 'in between',
    },
  ),
  good('continuation/header', '§6.10: of no octets', [CONTINUATION, 0, 3], [], { header_block_fragment: '' }),
  good(
    'unknown/normal',
    '§5.5: a type without a meaning is ignored',
    [0xfa, 0xff, 0],
    [ascii('extension')],
    {},
  ),
  good('unknown/stream', '§5.5: on a stream, too', [0x0b, 0, 99], [], {}),
]

const BAD = () => [
  bad('data-frame-stream', '§6.1: on stream 0', PROTOCOL_ERROR, [DATA, 0, 0], ascii('x')),
  bad(
    'data-frame-padding',
    '§6.1: with more padding than payload',
    PROTOCOL_ERROR,
    [DATA, PADDED, 1],
    bytes(200, 0, 0),
  ),
  bad(
    'data-frame-padding-equal',
    '§6.1: with as much padding as payload',
    PROTOCOL_ERROR,
    [DATA, PADDED, 1],
    bytes(3, 0, 0),
  ),
  bad(
    'data-frame-no-padding-length',
    '§6.1: padded, without a length',
    [PROTOCOL_ERROR, FRAME_SIZE_ERROR],
    [DATA, PADDED, 1],
  ),
  {
    name: 'error/data-frame-size',
    description: '§4.2: above SETTINGS_MAX_FRAME_SIZE, by its head; its content isn’t here',
    wire: toWire(DATA, 0, 1, zeros(16_385)).slice(0, 2 * HEAD_LENGTH),
    frame: null,
    error: [FRAME_SIZE_ERROR],
  },
  bad('headers-frame-stream', '§6.2: on stream 0', PROTOCOL_ERROR, [HEADERS, END_HEADERS, 0], ascii('x')),
  bad(
    'headers-frame-padding',
    '§6.2: with more padding than payload',
    PROTOCOL_ERROR,
    [HEADERS, END_HEADERS | PADDED, 1],
    bytes(9, 0x88),
  ),
  bad(
    'headers-frame-priority-size',
    '§4.2: with a priority, and no room for it',
    [PROTOCOL_ERROR, FRAME_SIZE_ERROR],
    [HEADERS, END_HEADERS | PRIORITY_FLAG, 1],
    zeros(4),
  ),
  bad(
    'headers-frame-priority-padding',
    '§6.2: whose padding leaves no room for its priority',
    [PROTOCOL_ERROR, FRAME_SIZE_ERROR],
    [HEADERS, END_HEADERS | PADDED | PRIORITY_FLAG, 1],
    bytes(5),
    zeros(9),
  ),
  bad('priority-frame-stream', '§6.3: on stream 0', PROTOCOL_ERROR, [PRIORITY, 0, 0], uint32(1), bytes(1)),
  bad(
    'priority-frame-size',
    '§6.3: of 4 octets, on a stream of nobody',
    FRAME_SIZE_ERROR,
    [PRIORITY, 0, 2],
    uint32(1),
  ),
  bad(
    'priority-frame-size-open',
    '§6.3: of 6 octets, on an open stream',
    FRAME_SIZE_ERROR,
    [PRIORITY, 0, 1],
    zeros(6),
  ),
  bad('rst_stream-frame-stream', '§6.4: on stream 0', PROTOCOL_ERROR, [RST_STREAM, 0, 0], uint32(8)),
  bad('rst_stream-frame-idle', '§6.4: on an idle stream', PROTOCOL_ERROR, [RST_STREAM, 0, 101], uint32(8)),
  bad('rst_stream-frame-size', '§6.4: of 3 octets', FRAME_SIZE_ERROR, [RST_STREAM, 0, 1], zeros(3)),
  bad('rst_stream-frame-size-more', '§6.4: of 5 octets', FRAME_SIZE_ERROR, [RST_STREAM, 0, 1], zeros(5)),
  bad('settings-frame-stream', '§6.5: on a stream', PROTOCOL_ERROR, [SETTINGS, 0, 1], entries([3, 100])),
  bad('settings-frame-size', '§6.5: of 5 octets', FRAME_SIZE_ERROR, [SETTINGS, 0, 0], zeros(5)),
  bad(
    'settings-frame-ack-size',
    '§6.5: an ACK with an entry',
    FRAME_SIZE_ERROR,
    [SETTINGS, ACK, 0],
    entries([3, 100]),
  ),
  bad(
    'settings-frame-push',
    '§6.5.2: a server that turns push on',
    PROTOCOL_ERROR,
    [SETTINGS, 0, 0],
    entries([2, 1]),
  ),
  bad(
    'settings-frame-push-value',
    '§6.5.2: push that is neither 0 nor 1',
    PROTOCOL_ERROR,
    [SETTINGS, 0, 0],
    entries([2, 2]),
  ),
  bad(
    'settings-frame-window',
    '§6.5.2: a window above 2^31 - 1',
    FLOW_CONTROL_ERROR,
    [SETTINGS, 0, 0],
    entries([4, 0x80000000]),
  ),
  bad(
    'settings-frame-frame-size-less',
    '§6.5.2: frames below 16,384',
    PROTOCOL_ERROR,
    [SETTINGS, 0, 0],
    entries([5, 16_383]),
  ),
  bad(
    'settings-frame-frame-size-more',
    '§6.5.2: frames above 2^24 - 1',
    PROTOCOL_ERROR,
    [SETTINGS, 0, 0],
    entries([5, 0x1000000]),
  ),
  bad(
    'settings-frame-connect',
    'RFC 8441 §3: extended CONNECT that is neither 0 nor 1',
    PROTOCOL_ERROR,
    [SETTINGS, 0, 0],
    entries([8, 2]),
  ),
  bad(
    'push_promise-frame-stream',
    '§6.6: on stream 0',
    PROTOCOL_ERROR,
    [PUSH_PROMISE, END_HEADERS, 0],
    uint32(2),
  ),
  bad(
    'push_promise-frame-promised',
    '§6.6: of a stream of the client',
    PROTOCOL_ERROR,
    [PUSH_PROMISE, END_HEADERS, 1],
    uint32(3),
  ),
  bad('ping-frame-stream', '§6.7: on a stream', PROTOCOL_ERROR, [PING, 0, 1], zeros(8)),
  bad('ping-frame-size', '§6.7: of 7 octets', FRAME_SIZE_ERROR, [PING, 0, 0], zeros(7)),
  bad('ping-frame-size-more', '§6.7: of 9 octets', FRAME_SIZE_ERROR, [PING, ACK, 0], zeros(9)),
  bad('goaway-frame-stream', '§6.8: on a stream', PROTOCOL_ERROR, [GOAWAY, 0, 1], uint32(1, 0)),
  bad('goaway-frame-size', '§6.8: of 7 octets', FRAME_SIZE_ERROR, [GOAWAY, 0, 0], zeros(7)),
  bad('window_update-frame-size', '§6.9: of 3 octets', FRAME_SIZE_ERROR, [WINDOW_UPDATE, 0, 1], zeros(3)),
  bad(
    'window_update-frame-size-more',
    '§6.9: of 5 octets',
    FRAME_SIZE_ERROR,
    [WINDOW_UPDATE, 0, 0],
    zeros(5),
  ),
  bad(
    'window_update-frame-increment',
    '§6.9: of nothing, on a stream',
    PROTOCOL_ERROR,
    [WINDOW_UPDATE, 0, 1],
    uint32(0),
  ),
  bad(
    'window_update-frame-increment-connection',
    '§6.9: of nothing',
    PROTOCOL_ERROR,
    [WINDOW_UPDATE, 0, 0],
    uint32(0),
  ),
  bad(
    'window_update-frame-increment-reserved',
    '§6.9: of nothing but the reserved bit',
    PROTOCOL_ERROR,
    [WINDOW_UPDATE, 0, 0],
    uint32(RESERVED),
  ),
  bad(
    'window_update-frame-overflow',
    '§6.9.1: above 2^31 - 1, on a stream',
    FLOW_CONTROL_ERROR,
    [WINDOW_UPDATE, 0, 1],
    uint32(0x7fffffff),
  ),
  bad(
    'window_update-frame-overflow-connection',
    '§6.9.1: above 2^31 - 1',
    FLOW_CONTROL_ERROR,
    [WINDOW_UPDATE, 0, 0],
    uint32(0x7fffffff),
  ),
  bad(
    'window_update-frame-idle',
    '§5.1: on an idle stream',
    PROTOCOL_ERROR,
    [WINDOW_UPDATE, 0, 101],
    uint32(1),
  ),
  bad(
    'continuation-frame-stream',
    '§6.10: on stream 0',
    PROTOCOL_ERROR,
    [CONTINUATION, END_HEADERS, 0],
    ascii('x'),
  ),
  bad(
    'continuation-frame-alone',
    '§6.10: without HEADERS before it',
    PROTOCOL_ERROR,
    [CONTINUATION, END_HEADERS, 1],
    ascii('x'),
  ),
]

/** All of them, good ones first. */
export function toFrames() {
  return [...GOOD(), ...BAD()]
}
