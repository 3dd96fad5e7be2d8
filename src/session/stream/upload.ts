/**
 * The body of one attempt's request, from the server's word to its last byte.
 *
 * @module
 */

import type { SendableBody } from '../../core/body-source.ts'
import { originalSetImmediate } from '../../core/original-timers.ts'
import type { Call } from '../../handler/call.ts'
import { BodyWriter } from './body-writer.ts'
import type { UploadSink } from './upload-sink.ts'

/** Bytes. A body of this size or less goes out in one piece. */
const SMALL_BODY = 16_384

/**
 * Sends a body at once, or when it may be sent.
 *
 * A body that can be had only once isn't touched before the next turn of the event loop: what has come together with
 * what made its caller dispatch is read then. A GOAWAY in it may have refused the stream, and the body can go with
 * another one.
 */
export class Upload {
  readonly #body: SendableBody
  readonly #sink: UploadSink
  readonly #call: Call
  /** Waits for the server's word (RFC 9110 §10.1.1). */
  #isWaiting: boolean
  /** It begins in the next turn of the event loop. */
  #isDue = false
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
    if (this.#isWaiting) return
    if (this.#body.kind !== 'stream' || !this.#body.canWait) {
      this.#send()
      return
    }
    this.#isDue = true
    originalSetImmediate(beginLater, this)
  }

  /** The turn that it has waited for. */
  begin(): void {
    if (!this.#isDue) return
    this.#isDue = false
    if (!this.#sink.isGone) this.#send()
  }

  /** The server wants it. A no-op for a body that didn't wait. */
  proceed(): void {
    if (!this.#isWaiting) return
    this.#isWaiting = false
    this.#call.sent(null)
    this.#send()
  }

  /** The response is complete: what still waits will never be sent. */
  forgo(): void {
    if ((this.#isWaiting || this.#isDue) && this.#body.kind === 'stream') this.#body.destroy(null)
  }

  /** Nobody wants the rest. */
  stop(): void {
    this.#isDue = false
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

function beginLater(upload: Upload): void {
  upload.begin()
}
