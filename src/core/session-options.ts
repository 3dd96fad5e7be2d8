/**
 * The options of a session: windows, limits, keepalive, SETTINGS.
 *
 * @module
 */

import type { ClientOptions, H2Options, Http2Settings } from '../../types/client.ts'
import { MAX_HEADER_SIZE } from './limits.ts'
import { invalid, toBoolean, toDelay, toInteger } from './validate.ts'
import { FIRST_CONNECTION_WINDOW, LARGEST_WINDOW, MAX_WINDOW_SIZE } from './window-size.ts'

/** What a session sends in its first SETTINGS. What isn't there isn't sent. The streams' window is the session's to choose. */
export type SentSettings = Readonly<Omit<Http2Settings, 'initialWindowSize'>>

/** With every option present. Durations in milliseconds, 0 for never; sizes in bytes. */
export interface SessionOptions {
  /** The largest window of a stream. */
  readonly initialWindowSize: number
  /** Whether the caller has said so. */
  readonly isWindowGiven: boolean
  /** What the session's window may follow the path to; where the caller hasn't given it, many streams make it larger still. */
  readonly connectionWindowSize: number
  /** Whether the caller has said so. */
  readonly isConnectionWindowGiven: boolean
  /** What an engine begins with that can make it larger. */
  readonly firstConnectionWindow: number
  /** All windows of streams together. */
  readonly maxSessionBuffer: number
  readonly maxConcurrentStreams: number
  readonly keepAliveTimeout: number
  readonly pingInterval: number
  /** Whether the caller has said so. */
  readonly isPingIntervalGiven: boolean
  readonly pingTimeout: number
  readonly settings: SentSettings
}

/** RFC 9113 §6.9.2: a connection's window can't be set below this. */
const MIN_CONNECTION_WINDOW_SIZE = 65_535
/** RFC 9113 §6.5.2: the largest value of a setting. */
const MAX_SETTING = 2 ** 32 - 1
/** RFC 9113 §6.5.2: from 2^14 to 2^24 - 1. */
const MIN_FRAME_SIZE = 16_384
const MAX_FRAME_SIZE = 2 ** 24 - 1

function toObject(name: string, value: unknown): object {
  if (value === undefined || value === null) return {}
  if (typeof value !== 'object' || Array.isArray(value)) throw invalid(name, value, 'an object')
  return value
}

/** The one value of an option that has two names, after the name that it was given by. */
function toOne(name: string, value: unknown, nested: string, nestedValue: unknown): [string, unknown] {
  const first = value ?? undefined
  const second = nestedValue ?? undefined
  if (second === undefined || first === second) return [name, first]
  if (first === undefined) return [nested, second]
  throw invalid(nested, second, `the same as ${name} (${String(first)}), or only one of them`)
}

type SettingCheck = (name: string, value: unknown) => number | boolean

const toSetting: SettingCheck = (name, value) => toInteger(name, value, 0, 0, MAX_SETTING, 'units')

/** Every setting that may be given, less the streams' window. */
const SETTINGS: Readonly<Record<keyof SentSettings, SettingCheck>> = {
  headerTableSize: toSetting,
  enablePush(name, value) {
    if (value !== false) throw invalid(name, value, 'false: nobody here takes what a server pushes')
    return value
  },
  maxConcurrentStreams: toSetting,
  maxFrameSize: (name, value) => toInteger(name, value, 0, MIN_FRAME_SIZE, MAX_FRAME_SIZE, 'bytes'),
  maxHeaderListSize: toSetting,
  enableConnectProtocol: (name, value) => toBoolean(name, value, false),
}

function isSettingName(name: string): name is keyof SentSettings {
  return Object.hasOwn(SETTINGS, name)
}

function toSettings(given: object): SentSettings {
  const settings: Record<string, number | boolean> = { enablePush: false, maxHeaderListSize: MAX_HEADER_SIZE }
  for (const [name, value] of Object.entries(given)) {
    if (name === 'initialWindowSize' || value === undefined) continue
    if (!isSettingName(name)) {
      const known = `one of initialWindowSize, ${Object.keys(SETTINGS).join(', ')}`
      throw invalid('h2Options.settings', name, known)
    }
    if (value === null) throw invalid(`h2Options.settings.${name}`, value, 'a value, or nothing')
    settings[name] = SETTINGS[name](`h2Options.settings.${name}`, value)
  }
  return Object.freeze(settings)
}

/** @throws InvalidArgumentError that names the option, its value, and what would be accepted. */
export function toSessionOptions(options: ClientOptions): SessionOptions {
  const h2Options: H2Options = toObject('h2Options', options.h2Options)
  const settings: Http2Settings = toObject('h2Options.settings', h2Options.settings)
  const one = (name: keyof H2Options & keyof ClientOptions): [string, unknown] =>
    toOne(name, options[name], `h2Options.${name}`, h2Options[name])
  const window = 'h2Options.settings.initialWindowSize'
  const [windowName, streamWindow] = toOne(
    'initialWindowSize',
    options.initialWindowSize,
    window,
    settings.initialWindowSize,
  )
  const { maxSessionBuffer, keepAliveTimeout, pingTimeout } = options
  const [pingName, pingInterval] = one('pingInterval')
  const [sessionName, sessionWindow] = one('connectionWindowSize')
  const connectionWindowSize = toInteger(
    sessionName,
    sessionWindow,
    LARGEST_WINDOW,
    MIN_CONNECTION_WINDOW_SIZE,
    MAX_WINDOW_SIZE,
    'bytes',
  )
  return Object.freeze({
    initialWindowSize: toInteger(windowName, streamWindow, LARGEST_WINDOW, 1, MAX_WINDOW_SIZE, 'bytes'),
    isWindowGiven: streamWindow !== undefined,
    connectionWindowSize,
    isConnectionWindowGiven: sessionWindow !== undefined,
    // Whoever names a window gets it.
    firstConnectionWindow: sessionWindow === undefined ? FIRST_CONNECTION_WINDOW : connectionWindowSize,
    maxSessionBuffer: toInteger(
      'maxSessionBuffer',
      maxSessionBuffer,
      268_435_456,
      MIN_CONNECTION_WINDOW_SIZE,
      Number.MAX_SAFE_INTEGER,
      'bytes',
    ),
    maxConcurrentStreams: toInteger(...one('maxConcurrentStreams'), MAX_SETTING, 1, MAX_SETTING, 'streams'),
    keepAliveTimeout: toDelay('keepAliveTimeout', keepAliveTimeout, 300_000),
    pingInterval: toDelay(pingName, pingInterval, 60_000),
    isPingIntervalGiven: pingInterval !== undefined,
    pingTimeout: toDelay('pingTimeout', pingTimeout, 15_000),
    settings: toSettings(settings),
  })
}
