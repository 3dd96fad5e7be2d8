/**
 * What a connection's frames say about it.
 *
 * @module
 */

import { DEFAULT_FRAME_SIZE, DEFAULT_WINDOW, Flag, FrameType } from '../../protocol/frames.ts'
import type { Field } from '../../protocol/inspect/field-blocks.ts'
import type { SettingsByName } from '../../protocol/inspect/frame-details.ts'
import { toIncrement, toSettings } from '../../protocol/inspect/frame-details.ts'
import type { Direction, ObservedFrame } from '../../protocol/inspect/frame-observer.ts'
import type { TapListener } from './wire-tap.ts'

/** One side's windows when the first response arrived, in bytes. */
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

/** Collects what the frames say. */
export class Http2Facts implements TapListener {
  readonly #onFrame: (frame: ObservedFrame) => void
  readonly #sides: Readonly<Record<Direction, Side>> = { sent: new Side(), received: new Side() }
  /** When frames that must be acknowledged were sent: PINGs by their payload, SETTINGS by ''. */
  readonly #waiting = new Map<string, number>()
  /** The shortest round trip from SETTINGS, or a PING, to its ACK, in milliseconds; null before the first. */
  roundTrip: number | null = null
  /** The request's header section, with pseudo-header fields, as it was first sent; null before. */
  requestFields: readonly Field[] | null = null
  /** The first rule that the server violated; null for none. */
  fault: string | null = null
  /** What the server speaks instead of HTTP/2: null for something unknown, undefined while there is no indication. */
  foreign: 'HTTP/1.1' | 'TLS' | null | undefined = undefined
  /** The debug data in the server's last GOAWAY; null for none. */
  goaway: string | null = null
  /** A 421's header section, and when it arrived; null before. */
  misdirected: { readonly fields: readonly Field[]; readonly at: number } | null = null
  /** When the request's header section was sent, as `performance.now()` counts; null before. */
  requestedAt: number | null = null
  /** When the final response's header section arrived, as `performance.now()` counts; null before. */
  respondedAt: number | null = null
  /** When the response ended, with the END_STREAM frame, as `performance.now()` counts; null before. */
  endedAt: number | null = null
  #hasResponse = false

  /** @param onFrame called for each frame */
  constructor(onFrame: (frame: ObservedFrame) => void) {
    this.#onFrame = onFrame
  }

  /** Whether one of the server's header sections has arrived. Settings and windows that change later don't count. */
  get hasResponse(): boolean {
    return this.#hasResponse
  }

  /** The settings that the server has sent so far; null before the first. */
  get serverSettings(): SettingsByName | null {
    return this.#sides.received.settings
  }

  /** The client's settings; null before the first. */
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

  /** The server's limits for requests; null where it sets none. */
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
    // The first one without a status is a trailer section, after a response.
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

/** Both types of frames that can have END_STREAM have it in the same place (RFC 9113 §6.1, §6.2). */
function isEnd({ flags, type }: ObservedFrame): boolean {
  return (type === FrameType.DATA || type === FrameType.HEADERS) && (flags & Flag.END_STREAM) !== 0
}
