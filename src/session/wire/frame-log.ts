/**
 * The lines of `NODE_DEBUG=dodici-frame`: each frame on an engine `wire` connection, as `dodici URL -v` shows it.
 *
 * @module
 */

import { frameLog } from '../../core/debug-log.ts'
import { HpackDecoder } from '../../protocol/hpack/decoder.ts'
import type { BlockDecoder, Field } from '../../protocol/inspect/field-blocks.ts'
import { toFrameDetails, toFrameLines } from '../../protocol/inspect/frame-details.ts'
import { FrameObserver } from '../../protocol/inspect/frame-observer.ts'
import { SecretFilter } from '../../protocol/inspect/secrets.ts'

/** No limit, because both sides of the connection check the sizes. */
const ANY_SIZE = 2 ** 32 - 1

/** The largest list that is shown, in bytes as RFC 9113 §6.5.2 counts it. */
const MAX_LIST = 1_048_576

/** A path without its query, as in the lines of `dodici-request`. */
function toShownField([name, value]: Field): Field {
  return name === ':path' ? [name, value.replace(/\?.*/s, '?…')] : [name, value]
}

function toDecoder(): BlockDecoder {
  const decoder = new HpackDecoder(ANY_SIZE, MAX_LIST)
  return {
    decode(block) {
      const list = decoder.decode(block, 0, block.length)
      return Array.from({ length: list.length / 2 }, (_, index) =>
        toShownField([list[2 * index] ?? '', list[2 * index + 1] ?? '']),
      )
    },
  }
}

/**
 * Observes a connection's frames, if they are logged.
 *
 * @param name the session's name, which starts each line
 * @returns null if they aren't
 */
export function toFrameLog(name: string): FrameObserver | null {
  if (frameLog === null) return null
  const log = frameLog
  const start = performance.now()
  const secrets = new SecretFilter(false, [])
  return new FrameObserver({ sent: toDecoder(), received: toDecoder() }, false, (frame) => {
    for (const line of toFrameLines(toFrameDetails(frame, start, secrets))) log(`${name}: ${line}`)
  })
}
