/**
 * The numbers of RFC 9113 §6: frame types, flags, sizes.
 *
 * @module
 */

/** The size of a frame header, in octets (RFC 9113 §4.1). */
export const FRAME_HEADER_SIZE = 9

/**
 * The size of the priority fields at the start of a HEADERS frame with the PRIORITY flag (RFC 9113 §6.2), in octets.
 */
export const PRIORITY_SIZE = 5

/** RFC 9113 §3.4: the octets that a client sends first, before its SETTINGS. */
export const PREFACE = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'

/**
 * RFC 9113 §6.5.2: the largest payload, in bytes, that each endpoint must accept until SETTINGS_MAX_FRAME_SIZE allows
 * more.
 */
export const DEFAULT_FRAME_SIZE = 16_384

/** RFC 9113 §6.9.2: the initial size of every window, in bytes. */
export const DEFAULT_WINDOW = 65_535

/** RFC 9113 §6.9.1: no window may be larger. In bytes. */
export const MAX_WINDOW = 2 ** 31 - 1

/** RFC 9113 §5.1.1: the highest stream id. */
export const MAX_STREAM_ID = 2 ** 31 - 1

/** Frame types in RFC 9113 §6, RFC 8336 §2.1 and RFC 9218 §7.1. */
export const FrameType = Object.freeze({
  DATA: 0x0,
  HEADERS: 0x1,
  PRIORITY: 0x2,
  RST_STREAM: 0x3,
  SETTINGS: 0x4,
  PUSH_PROMISE: 0x5,
  PING: 0x6,
  GOAWAY: 0x7,
  WINDOW_UPDATE: 0x8,
  CONTINUATION: 0x9,
  ORIGIN: 0xc,
  PRIORITY_UPDATE: 0x10,
})

/** Flags in RFC 9113 §6. ACK and END_STREAM are the same bit in different frames. */
export const Flag = Object.freeze({
  ACK: 0x1,
  END_STREAM: 0x1,
  END_HEADERS: 0x4,
  PADDED: 0x8,
  PRIORITY: 0x20,
})
