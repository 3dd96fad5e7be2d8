/** Receive windows with the sizes that a test wants. */

import type { WindowedStreams } from '../../../src/protocol/receive-windows.ts'
import { ReceiveWindows } from '../../../src/protocol/receive-windows.ts'

/** Sizes of receive windows. Bytes. */
export interface WindowSizes {
  /** The stream window at first: SETTINGS_INITIAL_WINDOW_SIZE. */
  readonly streamWindow: number
  /** The size to which the stream window may grow. */
  readonly maxStreamWindow: number
  /** The connection window at first. */
  readonly connectionWindow: number
  /** The size to which the connection window may grow. */
  readonly maxConnectionWindow: number
  /** How much may be buffered unread for all streams together. */
  readonly maxBuffer: number
}

/** Windows of a session without streams, unless a test has some. @param onAck the peer has acknowledged a change */
export function toWindows(
  sizes: WindowSizes,
  onAck: () => void = () => {},
  streams: WindowedStreams = { size: 0, items: [] },
): ReceiveWindows {
  let hasBegun = false
  const windows = new ReceiveWindows(
    {
      initialWindowSize: sizes.maxStreamWindow,
      isWindowGiven: true,
      connectionWindowSize: sizes.maxConnectionWindow,
      isConnectionWindowGiven: true,
      firstConnectionWindow: sizes.connectionWindow,
      maxSessionBuffer: sizes.maxBuffer,
    },
    streams,
    () => {
      if (hasBegun) onAck()
    },
  )
  // Any first size, which a session would choose by its options.
  windows.resize(sizes.streamWindow)
  windows.announce()
  windows.acknowledge(sizes.streamWindow)
  hasBegun = true
  return windows
}
