/**
 * Sends the body of one attempt's request: when it starts, and how.
 *
 * @module
 */

import type { Call } from '../../call/call.ts'
import { originalSetImmediate } from '../../core/original-timers.ts'
import type { SendableBody } from '../../request/body-source.ts'
import { BodyWriter } from './body-writer.ts'
import type { UploadSink } from './upload-sink.ts'

/** A body of up to this many bytes is written as one piece. */
const SMALL_BODY = 16_384

/**
 * Sends a body at once, or as soon as it may be sent.
 *
 * A body that can be read only once isn't touched before the next turn of the event loop. By then, the bytes that had
 * arrived from the server when the caller dispatched have been read. If they contain a GOAWAY that refuses the
 * stream, the body can go with another stream.
 */
export class Upload {
  readonly #body: SendableBody
  readonly #sink: UploadSink
  readonly #call: Call
  /** Whether the body waits for a 100 response (RFC 9110 §10.1.1). */
  #isWaiting: boolean
  /** Whether the body starts in the next turn of the event loop. */
  #isDue = false
  /** Null for a body of one piece, without a body, and before the body starts. */
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
    this.#sink.onDue()
    originalSetImmediate(beginLater, this)
  }

  /** The next turn of the event loop has come. */
  begin(): void {
    this.#sink.onTurn()
    if (!this.#isDue) return
    this.#isDue = false
    if (!this.#sink.isGone) this.#send()
  }

  /** The server asks for the body, or the wait for that is over. Does nothing for a body that didn't wait. */
  proceed(): void {
    if (!this.#isWaiting) return
    this.#isWaiting = false
    this.#call.sent(null)
    this.#call.runInAsyncScope(this.#send, this)
  }

  /** The rest of the body isn't sent, and the source isn't read any further. Its call stops or destroys it. */
  stop(): void {
    this.#isWaiting = false
    this.#isDue = false
    this.#writer?.stop()
  }

  #send(): void {
    const body = this.#body
    if (body.kind === 'none') {
      this.#sink.end()
    } else if (body.kind === 'bytes' && body.length <= SMALL_BODY && body.bytes.byteLength === body.length) {
      // The caller may have transferred the memory of a body that waited: then the writer fails the call.
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
