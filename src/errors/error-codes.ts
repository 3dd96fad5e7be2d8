/**
 * The error codes of HTTP/2 (RFC 9113 §7).
 *
 * @module
 */

/** The codes by their names in RFC 9113 §7; RST_STREAM and GOAWAY carry them. */
export const ErrorCode = Object.freeze({
  NO_ERROR: 0x0,
  PROTOCOL_ERROR: 0x1,
  INTERNAL_ERROR: 0x2,
  FLOW_CONTROL_ERROR: 0x3,
  SETTINGS_TIMEOUT: 0x4,
  STREAM_CLOSED: 0x5,
  FRAME_SIZE_ERROR: 0x6,
  REFUSED_STREAM: 0x7,
  CANCEL: 0x8,
  COMPRESSION_ERROR: 0x9,
  CONNECT_ERROR: 0xa,
  ENHANCE_YOUR_CALM: 0xb,
  INADEQUATE_SECURITY: 0xc,
  HTTP_1_1_REQUIRED: 0xd,
})

const NAMES: ReadonlyMap<number, string> = new Map(
  Object.entries(ErrorCode).map(([name, code]) => [code, name]),
)

/** The name of an HTTP/2 error code, such as `REFUSED_STREAM`; for unknown codes, `0x…`. */
export function toErrorCodeName(code: number): string {
  return NAMES.get(code) ?? `0x${code.toString(16)}`
}
