/**
 * The body of one attempt's request, from the server's word to its last byte.
 *
 * @module
 */

import type { SendableBody } from '../core/body.ts'
import type { Call } from '../handler/call.ts'
import { BodyWriter } from './body-writer.ts'
import type { UploadSink } from './upload-sink.ts'

/** Bytes. A body of this size or less goes out in one piece. */
const SMALL_BODY = 16_384

/** Sends a body at once, or when it may be sent. */
export class Upload {
  readonly #body: SendableBody
  readonly #sink: UploadSink
  readonly #call: Call
  /** Waits for the server's word (RFC 9110 §10.1.1). */
  #isWaiting: boolean
  /** Null for a body that was handed over in one piece, or none. */
  #writer: BodyWriter | null = null

  constructor(body: SendableBody, sink: UploadSink, call: Call) {
    this.#body = body
    this.#sink = sink
    this.#call = call
    this.#isWaiting = call.request.toUpload(body) === 'waiting'
  }

  /** The stream is open. */
  start(): void {
    if (!this.#isWaiting) this.#send()
  }

  /** The server wants it. A no-op for a body that didn't wait. */
  proceed(): void {
    if (!this.#isWaiting) return
    this.#isWaiting = false
    this.#call.sent(null)
    this.#send()
  }

  /** The answer is complete: what still waits will never be sent. */
  forgo(): void {
    if (this.#isWaiting && this.#body.kind === 'stream') this.#body.destroy(null)
  }

  /** Nobody wants the rest. */
  stop(): void {
    this.#writer?.stop()
  }

  #send(): void {
    const body = this.#body
    if (body.kind === 'none') {
      this.#sink.end()
    } else if (body.kind === 'bytes' && body.length <= SMALL_BODY) {
      this.#sink.write(body.bytes, true)
      this.#sink.end()
      this.#call.sent(body.bytes)
    } else {
      this.#writer = new BodyWriter(body, this.#sink, this.#call)
      this.#writer.start()
    }
  }
}
