/**
 * What the frames of a connection tell about it.
 *
 * @module
 */

import { DEFAULT_FRAME_SIZE, DEFAULT_WINDOW, Flag, FrameType } from '../../protocol/frames.ts'
import type { Field } from '../../protocol/inspect/field-blocks.ts'
import type { SettingsByName } from '../../protocol/inspect/frame-details.ts'
import { toIncrement, toSettings } from '../../protocol/inspect/frame-details.ts'
import type { Direction, ObservedFrame } from '../../protocol/inspect/frame-observer.ts'
import type { TapListener } from './wire-tap.ts'

/** One side's windows when the first response came, in bytes. */
export interface Windows {
  /** SETTINGS_INITIAL_WINDOW_SIZE. */
  readonly stream: number
  readonly connection: number
}

/** What one side has said. */
class Side {
  /** Null before its first SETTINGS. */
  settings: Record<string, number> | null = null
  connectionWindow = DEFAULT_WINDOW

  get windows(): Windows {
    return { stream: this.settings?.INITIAL_WINDOW_SIZE ?? DEFAULT_WINDOW, connection: this.connectionWindow }
  }
}

/** Collects what frames tell. */
export class Http2Facts implements TapListener {
  readonly #onFrame: (frame: ObservedFrame) => void
  readonly #sides: Readonly<Record<Direction, Side>> = { sent: new Side(), received: new Side() }
  /** When frames were sent that have to be acknowledged: PINGs by their payload, SETTINGS by ''. */
  readonly #waiting = new Map<string, number>()
  /** The shortest round trip of SETTINGS, or of a PING, to its ACK. Milliseconds; null before the first. */
  roundTrip: number | null = null
  /** The header section of the request, with pseudo-header fields, as it was sent first; null before. */
  requestFields: readonly Field[] | null = null
  /** The first rule that the server broke; null for none. */
  fault: string | null = null
  /** What the server speaks instead of HTTP/2: null for something unknown, undefined while nothing says so. */
  foreign: 'HTTP/1.1' | 'TLS' | null | undefined = undefined
  /** The debug data of the server's last GOAWAY; null for none. */
  goaway: string | null = null
  /** The header section of a 421, and when it came; null before. */
  misdirected: { readonly fields: readonly Field[]; readonly at: number } | null = null
  /** When the request's header section was sent; null before. By `performance.now()`. */
  requestedAt: number | null = null
  /** When the header section of the final response came; null before. By `performance.now()`. */
  respondedAt: number | null = null
  /** When the response ended: the frame with END_STREAM. Null before. By `performance.now()`. */
  endedAt: number | null = null
  #hasResponse = false

  /** @param onFrame hears of each frame */
  constructor(onFrame: (frame: ObservedFrame) => void) {
    this.#onFrame = onFrame
  }

  /** A header section of the server's has come. Settings and windows that change later are not counted. */
  get hasResponse(): boolean {
    return this.#hasResponse
  }

  /** The server's SETTINGS that it has sent so far; null before the first. */
  get serverSettings(): SettingsByName | null {
    return this.#sides.received.settings
  }

  /** Those of the client; null before the first. */
  get clientSettings(): SettingsByName | null {
    return this.#sides.sent.settings
  }

  /** What the client may send: the server's windows. */
  get serverWindows(): Windows {
    return this.#sides.received.windows
  }

  /** What the server may send: the client's windows. */
  get clientWindows(): Windows {
    return this.#sides.sent.windows
  }

  /** The limits that the server sets for requests; null where it sets none. */
  get limits(): { streams: number | null; headerList: number | null; frame: number } {
    const settings = this.serverSettings
    return {
      streams: settings?.MAX_CONCURRENT_STREAMS ?? null,
      headerList: settings?.MAX_HEADER_LIST_SIZE ?? null,
      frame: settings?.MAX_FRAME_SIZE ?? DEFAULT_FRAME_SIZE,
    }
  }

  onForeign(protocol: 'HTTP/1.1' | 'TLS' | null): void {
    this.foreign = protocol
  }

  onFrame(frame: ObservedFrame): void {
    const { direction, type, fields, fault } = frame
    if (direction === 'received') this.fault ??= fault
    if (fields !== null) {
      if (direction === 'sent') {
        this.requestFields ??= fields
        this.requestedAt ??= frame.at
      } else this.#onFields(frame, fields)
    }
    if (direction === 'received' && isEnd(frame)) this.endedAt ??= frame.at
    if (type === FrameType.SETTINGS) this.#onSettings(frame)
    else if (type === FrameType.GOAWAY && direction === 'received') {
      this.goaway = frame.payload.toString('utf8', 8) || null
    } else if (type === FrameType.PING) this.#onPing(frame)
    else if (type === FrameType.WINDOW_UPDATE && frame.streamId === 0 && !this.#hasResponse) {
      this.#sides[direction].connectionWindow += toIncrement(frame)
    }
    this.#onFrame(frame)
  }

  #onFields({ at }: ObservedFrame, fields: readonly Field[]): void {
    this.#hasResponse = true
    const [, status = ''] = fields.find(([name]) => name === ':status') ?? []
    // The first without a status is a trailer section, behind a response.
    if (!status.startsWith('1')) this.respondedAt ??= at
    if (status === '421') {
      this.misdirected ??= { fields, at }
    }
  }

  #onSettings(frame: ObservedFrame): void {
    if ((frame.flags & Flag.ACK) !== 0) {
      this.#onAck(frame, '')
      return
    }
    if (frame.direction === 'sent') this.#waiting.set('', frame.at)
    if (this.#hasResponse) return
    const side = this.#sides[frame.direction]
    side.settings = { ...side.settings, ...toSettings(frame.payload) }
  }

  #onPing(frame: ObservedFrame): void {
    const payload = frame.payload.toString('latin1')
    if ((frame.flags & Flag.ACK) !== 0) this.#onAck(frame, payload)
    else if (frame.direction === 'sent') this.#waiting.set(payload, frame.at)
  }

  #onAck(frame: ObservedFrame, key: string): void {
    const sentAt = frame.direction === 'received' ? this.#waiting.get(key) : undefined
    if (sentAt === undefined) return
    this.#waiting.delete(key)
    this.roundTrip = Math.min(this.roundTrip ?? Number.POSITIVE_INFINITY, frame.at - sentAt)
  }
}

/** Both types with END_STREAM have it in the same place (RFC 9113 §6.1, §6.2). */
function isEnd({ flags, type }: ObservedFrame): boolean {
  return (type === FrameType.DATA || type === FrameType.HEADERS) && (flags & Flag.END_STREAM) !== 0
}
