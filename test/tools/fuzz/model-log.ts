/** Frames as the log of a round shows them. */

import type { Frame } from '../../../src/testing/frames.ts'
import { toTypeName } from '../../../src/testing/frames.ts'

/** Bytes that are shown of a frame. */
const SHOWN = 30

export function describeFrame({ type, flags, streamId, payload }: Frame): string {
  return `${toTypeName(type)} stream ${streamId} flags ${flags} of ${payload.length} ${payload.toString('hex', 0, SHOWN)}`
}
