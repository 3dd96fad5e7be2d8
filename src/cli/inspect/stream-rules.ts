/**
 * What a server may send on which stream, as far as its frames alone show (RFC 9113 §5.1, §8.1).
 *
 * Engine `wire` checks all of it, and more. node:http2 silently ignores some of it.
 *
 * @module
 */

import { Flag, FrameType } from '../../protocol/frames.ts'
import type { Field } from '../../protocol/inspect/field-blocks.ts'
import type { Frame } from '../../protocol/inspect/frame-scanner.ts'

/** How far the server is on a stream. */
type Progress = 'open' | 'responding' | 'ended'

/** RFC 9113 §8.2.1: a token in lower case. */
const NAME = /^:?[!#$%&'*+\-.^_`|~0-9a-z]+$/

/** NUL, CR, LF, and white space at either end. */
const BAD_VALUE = /[\0\r\n]|^[ \t]|[ \t]$/

/** Follows one connection's streams. */
export class StreamRules {
  readonly #streams = new Map<number, Progress>()

  /** One of the client's frames. */
  onSent({ type, streamId }: Frame): void {
    if (type === FrameType.HEADERS && !this.#streams.has(streamId)) this.#streams.set(streamId, 'open')
  }

  /**
   * One of the server's frames.
   *
   * @param fields the fields that it completes
   * @returns the rule that it violates; null for none
   */
  onReceived({ type, flags, streamId }: Frame, fields: readonly Field[] | null): string | null {
    const isHeaders = type === FrameType.HEADERS
    if (!isHeaders && type !== FrameType.DATA)
      return fields === null ? null : this.#onFields(streamId, fields)
    const name = isHeaders ? 'HEADERS' : 'DATA'
    const progress = this.#streams.get(streamId)
    if (progress === undefined) return `${name} arrived on an idle stream (RFC 9113 §5.1)`
    if (progress === 'ended') return `${name} arrived on a closed stream (RFC 9113 §5.1)`
    if (!isHeaders && progress === 'open') return 'DATA came before a header section (RFC 9113 §8.1)'
    const fault = fields === null ? null : this.#onFields(streamId, fields)
    if ((flags & Flag.END_STREAM) !== 0) this.#streams.set(streamId, 'ended')
    return fault
  }

  #onFields(streamId: number, fields: readonly Field[]): string | null {
    const [, status = ''] = fields.find(([name]) => name === ':status') ?? []
    if (!status.startsWith('1') && this.#streams.get(streamId) === 'open') {
      this.#streams.set(streamId, 'responding')
    }
    for (const [name, value] of fields) {
      if (!NAME.test(name)) return `A field has the name '${name}' (RFC 9113 §8.2.1)`
      if (BAD_VALUE.test(value)) return `The value of the field '${name}' is malformed (RFC 9113 §8.2.1)`
    }
    return null
  }
}
