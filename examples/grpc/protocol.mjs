/**
 * The parts of gRPC above HTTP/2, for both clients in this folder: framed messages, metadata, deadlines and statuses.
 * Messages are bytes: add a codec, such as protobuf's.
 *
 * @see https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md
 */

// @ts-check

/** @typedef {import('dodici').DispatchOptions} DispatchOptions */

/**
 * Fields in the order of the wire, duplicates kept apart. The values of those whose names end in `-bin` are bytes.
 *
 * @typedef {(readonly [name: string, value: string | Uint8Array])[]} Metadata
 */

/**
 * One message, sent as bytes, so that the request can be retried; or several messages, which can't be sent again.
 *
 * @typedef {Uint8Array | AsyncIterable<Uint8Array>} Input
 */

/**
 * @typedef {object} CallOptions
 * @property {string} [origin] the origin of the server, such as `https://localhost:50051`. An Agent needs it; a Client
 *   and a Pool have their own
 * @property {Metadata} [metadata]
 * @property {number} [timeout] the deadline: milliseconds for the whole call. It is sent to the server, too. Without one
 *   the call has no limit
 * @property {AbortSignal} [signal] cancels the call
 * @property {number} [maxMessageSize] the largest message that is accepted, in bytes; 4_194_304 by default
 * @property {(metadata: Metadata) => void} [onMetadata]
 * @property {(trailers: Metadata) => void} [onTrailers]
 */

/** The statuses that this module produces. A server may send any of the 17. */
export const Status = Object.freeze({
  OK: 0,
  CANCELLED: 1,
  UNKNOWN: 2,
  DEADLINE_EXCEEDED: 4,
  PERMISSION_DENIED: 7,
  RESOURCE_EXHAUSTED: 8,
  UNIMPLEMENTED: 12,
  INTERNAL: 13,
  UNAVAILABLE: 14,
  UNAUTHENTICATED: 16,
})

/** A call that didn't end with the status OK. */
export class GrpcError extends Error {
  /**
   * @param {number} code
   * @param {string} message
   * @param {Metadata} metadata the trailers. The details of the status are in `grpc-status-details-bin`
   * @param {ErrorOptions} [options]
   */
  constructor(code, message, metadata = [], options) {
    super(message, options)
    this.name = 'GrpcError'
    this.code = code
    this.metadata = metadata
  }
}

/**
 * @param {string} method such as `package.Service/Method`
 * @param {Input} input
 * @param {CallOptions} options
 * @returns {DispatchOptions}
 */
export function toRequest(method, input, options) {
  const { origin, metadata = [], timeout } = options
  const headers = ['content-type', 'application/grpc', 'te', 'trailers']
  if (timeout !== undefined) headers.push('grpc-timeout', toTimeout(timeout))
  for (const [name, value] of metadata) {
    headers.push(name, typeof value === 'string' ? value : Buffer.from(value).toString('base64'))
  }
  return {
    ...(origin === undefined ? {} : { origin }),
    path: `/${method}`,
    method: 'POST',
    headers,
    body: input instanceof Uint8Array ? toFrame(input) : toFrames(input),
    // Both sides of a stream may be silent for hours. The deadline is the only clock of a call; PINGs find a dead
    // connection.
    headersTimeout: 0,
    bodyTimeout: 0,
    uploadTimeout: 0,
    requestTimeout: timeout === undefined ? 0 : Math.max(1, Math.ceil(timeout)),
  }
}

/** The value of `grpc-timeout`: at most eight digits and a unit. @param {number} milliseconds */
function toTimeout(milliseconds) {
  const whole = Math.max(1, Math.ceil(milliseconds))
  return whole < 1e8 ? `${whole}m` : `${Math.min(Math.ceil(whole / 1_000), 99_999_999)}S`
}

/** @param {Uint8Array} message */
function toFrame(message) {
  const frame = Buffer.allocUnsafe(5 + message.length)
  // Not compressed.
  frame[0] = 0
  frame.writeUInt32BE(message.length, 1)
  frame.set(message, 5)
  return frame
}

/**
 * Not a generator: when the call has ended, `return()` of a generator that waits for a message would wait, too.
 *
 * @param {AsyncIterable<Uint8Array>} messages
 * @returns {AsyncIterable<Buffer>}
 */
function toFrames(messages) {
  return {
    [Symbol.asyncIterator]() {
      const iterator = messages[Symbol.asyncIterator]()
      return {
        async next() {
          const { done, value } = await iterator.next()
          return done ? { done, value } : { done: false, value: toFrame(value) }
        },
        async return() {
          await iterator.return?.()
          return { done: true, value: undefined }
        },
      }
    },
  }
}

/** Finds the messages in the pieces of a body. */
export class MessageReader {
  #maxSize
  /** @type {Buffer[]} */
  #pieces = []
  #size = 0
  /** The length of the message whose prefix has been read. -1: a prefix comes next. */
  #length = -1

  /** @param {CallOptions} options */
  constructor({ maxMessageSize = 4_194_304 }) {
    this.#maxSize = maxMessageSize
  }

  /** @param {Buffer} piece @returns {Generator<Buffer>} */
  *read(piece) {
    this.#pieces.push(piece)
    this.#size += piece.length
    for (;;) {
      const wanted = this.#length < 0 ? 5 : this.#length
      if (this.#size < wanted) return
      const bytes = this.#pieces.length === 1 ? piece : Buffer.concat(this.#pieces)
      piece = bytes.subarray(wanted)
      this.#pieces = [piece]
      this.#size = piece.length
      const isMessage = this.#length >= 0
      this.#length = isMessage ? -1 : this.#toLength(bytes)
      if (isMessage) yield bytes.subarray(0, wanted)
    }
  }

  /** @param {Buffer} prefix */
  #toLength(prefix) {
    if (prefix[0] !== 0)
      throw new GrpcError(Status.INTERNAL, 'A message is compressed, which the client did not ask for')
    const length = prefix.readUInt32BE(1)
    if (length <= this.#maxSize) return length
    throw new GrpcError(
      Status.RESOURCE_EXHAUSTED,
      `A message has ${length} bytes, of ${this.#maxSize} at most`,
    )
  }

  /** @throws {GrpcError} if the body ended within a message */
  end() {
    if (this.#size > 0 || this.#length >= 0)
      throw new GrpcError(Status.INTERNAL, 'The body ended within a message')
  }
}

/**
 * @param {readonly string[]} raw `[name, value, …]`, as `responseHeaders: 'raw'` and `controller.rawHeaders` give it
 * @returns {Metadata}
 */
export function toMetadata(raw) {
  /** @type {Metadata} */
  const metadata = []
  for (let index = 0; index < raw.length; index += 2) {
    const name = raw[index] ?? ''
    const value = raw[index + 1] ?? ''
    if (!name.endsWith('-bin')) metadata.push([name, value])
    // An intermediary may have joined several values.
    else for (const part of value.split(',')) metadata.push([name, Buffer.from(part, 'base64')])
  }
  return metadata
}

/** A field that isn't binary. @param {Metadata} metadata @param {string} name */
function find(metadata, name) {
  return metadata.find(([other]) => other === name)?.[1]?.toString()
}

/** @type {Readonly<Record<number, number>>} */
const BY_HTTP_STATUS = {
  400: Status.INTERNAL,
  401: Status.UNAUTHENTICATED,
  403: Status.PERMISSION_DENIED,
  404: Status.UNIMPLEMENTED,
  429: Status.UNAVAILABLE,
  502: Status.UNAVAILABLE,
  503: Status.UNAVAILABLE,
  504: Status.UNAVAILABLE,
}

/**
 * @param {number} statusCode
 * @param {Metadata} header
 * @throws {GrpcError} if the header section isn't gRPC's: the response comes from a proxy
 */
export function checkHeader(statusCode, header) {
  const type = find(header, 'content-type') ?? 'no content-type'
  if (statusCode === 200 && type.startsWith('application/grpc')) return
  const code = BY_HTTP_STATUS[statusCode] ?? Status.UNKNOWN
  throw new GrpcError(code, `The response has status ${statusCode} and ${type}`, header)
}

/**
 * Checks the status of a call that has ended.
 *
 * @param {Metadata} header has the status if the response has nothing else ('Trailers-Only')
 * @param {Metadata} trailers
 * @throws {GrpcError} if the status isn't OK
 */
export function checkStatus(header, trailers) {
  const fields = find(trailers, 'grpc-status') === undefined ? header : trailers
  const code = Number(find(fields, 'grpc-status') ?? Number.NaN)
  if (code === Status.OK) return
  if (!Number.isInteger(code)) throw new GrpcError(Status.UNKNOWN, 'The response has no grpc-status', fields)
  throw new GrpcError(code, decode(find(fields, 'grpc-message') ?? ''), fields)
}

/**
 * Octets of UTF-8, some of them as `%XX`. A malformed sequence stays as it is; `decodeURIComponent()` would throw.
 *
 * @param {string} message
 */
function decode(message) {
  const octets = message.replace(/%([\da-f]{2})/gi, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)))
  return Buffer.from(octets, 'latin1').toString()
}

/** Names of Dodici's errors. @type {readonly unknown[]} */
const UNAVAILABLE = [
  'SocketError',
  'ConnectError',
  'ConnectTimeoutError',
  'QueueTimeoutError',
  'ClientClosedError',
  'ClientDestroyedError',
]

/** The error codes of RST_STREAM and GOAWAY. All others are INTERNAL. @type {Readonly<Record<number, number>>} */
const BY_HTTP2_ERROR = {
  7: Status.UNAVAILABLE,
  8: Status.CANCELLED,
  11: Status.RESOURCE_EXHAUSTED,
  12: Status.PERMISSION_DENIED,
}

/**
 * Any error of a call → a GrpcError.
 *
 * @param {unknown} thrown
 * @param {CallOptions} [options]
 * @param {number} [begun] when the call began, by `performance.now()`
 */
export function toGrpcError(thrown, { signal, timeout = Infinity } = {}, begun = performance.now()) {
  if (thrown instanceof GrpcError) return thrown
  const { code, name, message, http2ErrorCode } = Object(thrown)
  /** @type {number} */
  let status = Status.UNKNOWN
  if (code === 'DODICI_ERR_REQUEST_TIMEOUT' || name === 'TimeoutError') status = Status.DEADLINE_EXCEEDED
  else if (signal?.aborted || code === 'UND_ERR_ABORTED') status = Status.CANCELLED
  else if (typeof http2ErrorCode === 'number') status = BY_HTTP2_ERROR[http2ErrorCode] ?? Status.INTERNAL
  // The connection is gone, or there was none.
  else if (UNAVAILABLE.includes(name)) status = Status.UNAVAILABLE
  // A server that meets the deadline first may reset the stream with CANCEL.
  if (status === Status.CANCELLED && !signal?.aborted && performance.now() - begun >= timeout)
    status = Status.DEADLINE_EXCEEDED
  return new GrpcError(status, String(message ?? thrown), [], { cause: thrown })
}
