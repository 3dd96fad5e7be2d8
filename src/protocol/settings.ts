/**
 * SETTINGS (RFC 9113 §6.5).
 *
 * @module
 */

import { ErrorCode } from '../errors/error-codes.ts'
import { DEFAULT_FRAME_SIZE, DEFAULT_WINDOW, MAX_WINDOW } from './frames.ts'
import { ConnectionFault, protocolError } from './protocol-error.ts'

/** Identifiers in RFC 9113 §6.5.2, RFC 8441 §3 and RFC 9218 §2.1. */
export const Setting = Object.freeze({
  HEADER_TABLE_SIZE: 0x1,
  ENABLE_PUSH: 0x2,
  MAX_CONCURRENT_STREAMS: 0x3,
  INITIAL_WINDOW_SIZE: 0x4,
  MAX_FRAME_SIZE: 0x5,
  MAX_HEADER_LIST_SIZE: 0x6,
  ENABLE_CONNECT_PROTOCOL: 0x8,
  NO_RFC7540_PRIORITIES: 0x9,
})

/** RFC 9113 §6.5.2: the initial size limit of HPACK's dynamic tables, in bytes. */
export const DEFAULT_TABLE_SIZE = 4_096

const MAX_FRAME_SIZE = 2 ** 24 - 1
const UNLIMITED = 2 ** 32 - 1

/** The server's settings so far. Settings that the server hasn't sent have the protocol's defaults. */
export class ServerSettings {
  /** The size limit of our HPACK encoder's dynamic table, in bytes. */
  headerTableSize = DEFAULT_TABLE_SIZE
  maxConcurrentStreams = UNLIMITED
  /** The initial send window of streams, in bytes. */
  initialWindowSize = DEFAULT_WINDOW
  /** The largest frame payload that we may send, in bytes. */
  maxFrameSize = DEFAULT_FRAME_SIZE
  /** The largest field section that the server accepts in a request, in bytes as §6.5.2 counts them. */
  maxHeaderListSize = UNLIMITED
  /** Whether the server accepts Extended CONNECT (RFC 8441 §3). */
  enableConnectProtocol = false

  /**
   * Applies one SETTINGS frame's payload, setting by setting (§6.5.3). Unknown settings are ignored.
   *
   * @returns the smallest SETTINGS_HEADER_TABLE_SIZE in it, because the encoder has to announce it (RFC 7541 §4.2); -1
   *   for none
   * @throws ConnectionFault for an invalid value
   */
  apply(bytes: Buffer, start: number, end: number): number {
    let smallestTable = -1
    for (let at = start; at + 6 <= end; at += 6) {
      const id = bytes.readUInt16BE(at)
      const value = bytes.readUInt32BE(at + 2)
      this.#set(id, value)
      if (id === Setting.HEADER_TABLE_SIZE && (smallestTable === -1 || value < smallestTable)) {
        smallestTable = value
      }
    }
    return smallestTable
  }

  #set(id: number, value: number): void {
    switch (id) {
      case Setting.HEADER_TABLE_SIZE:
        this.headerTableSize = value
        break
      case Setting.ENABLE_PUSH:
        if (value !== 0) protocolError(`The server set SETTINGS_ENABLE_PUSH to ${value} (RFC 9113 §6.5.2)`)
        break
      case Setting.MAX_CONCURRENT_STREAMS:
        this.maxConcurrentStreams = value
        break
      case Setting.INITIAL_WINDOW_SIZE:
        if (value > MAX_WINDOW) {
          const message = `SETTINGS_INITIAL_WINDOW_SIZE is ${value} (RFC 9113 §6.5.2)`
          throw new ConnectionFault(ErrorCode.FLOW_CONTROL_ERROR, message)
        }
        this.initialWindowSize = value
        break
      case Setting.MAX_FRAME_SIZE:
        if (value < DEFAULT_FRAME_SIZE || value > MAX_FRAME_SIZE) {
          protocolError(`SETTINGS_MAX_FRAME_SIZE is ${value} (RFC 9113 §6.5.2)`)
        }
        this.maxFrameSize = value
        break
      case Setting.MAX_HEADER_LIST_SIZE:
        this.maxHeaderListSize = value
        break
      case Setting.ENABLE_CONNECT_PROTOCOL:
        this.#enableConnect(value)
        break
      case Setting.NO_RFC7540_PRIORITIES:
        if (value > 1) protocolError(`SETTINGS_NO_RFC7540_PRIORITIES is ${value} (RFC 9218 §2.1)`)
    }
  }

  /** RFC 8441 §3: 0 or 1; a server must not send 0 after 1. */
  #enableConnect(value: number): void {
    if (value > 1) protocolError(`SETTINGS_ENABLE_CONNECT_PROTOCOL is ${value} (RFC 8441 §3)`)
    if (value === 0 && this.enableConnectProtocol) {
      protocolError('SETTINGS_ENABLE_CONNECT_PROTOCOL changed from 1 to 0 (RFC 8441 §3)')
    }
    this.enableConnectProtocol = value === 1
  }
}

/**
 * The client's own settings, except for the stream window. An undefined one isn't sent: the protocol's default applies.
 */
export interface OwnSettings {
  readonly headerTableSize?: number | undefined
  readonly maxConcurrentStreams?: number | undefined
  readonly maxFrameSize?: number | undefined
  readonly maxHeaderListSize?: number | undefined
  readonly enableConnectProtocol?: boolean | undefined
}

/** @returns identifier, value, identifier, value, … for the client's first SETTINGS */
export function toSettingList(settings: OwnSettings, streamWindow: number): number[] {
  const { headerTableSize, maxConcurrentStreams, maxFrameSize, maxHeaderListSize } = settings
  const list: number[] = []
  if (headerTableSize !== undefined) list.push(Setting.HEADER_TABLE_SIZE, headerTableSize)
  // RFC 9113 §6.5.2: this client accepts no server push.
  list.push(Setting.ENABLE_PUSH, 0)
  if (maxConcurrentStreams !== undefined) list.push(Setting.MAX_CONCURRENT_STREAMS, maxConcurrentStreams)
  list.push(Setting.INITIAL_WINDOW_SIZE, streamWindow)
  if (maxFrameSize !== undefined) list.push(Setting.MAX_FRAME_SIZE, maxFrameSize)
  if (maxHeaderListSize !== undefined) list.push(Setting.MAX_HEADER_LIST_SIZE, maxHeaderListSize)
  const { enableConnectProtocol } = settings
  if (enableConnectProtocol !== undefined)
    list.push(Setting.ENABLE_CONNECT_PROTOCOL, enableConnectProtocol ? 1 : 0)
  // RFC 9218 §2.1.1: we use only the priorities of RFC 9218.
  list.push(Setting.NO_RFC7540_PRIORITIES, 1)
  return list
}

/** @returns identifier and value for a change of the stream window */
export function toWindowSetting(streamWindow: number): number[] {
  return [Setting.INITIAL_WINDOW_SIZE, streamWindow]
}
