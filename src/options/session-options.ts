/**
 * The options of a session: windows, limits, keepalive, SETTINGS.
 *
 * @module
 */

import type { ClientOptions, H2Options, Http2Settings } from '../../types/client.ts'
import { invalid, toBoolean, toInteger } from '../core/validate.ts'
import { H2_OPTIONS } from './known-options.ts'
import type { SessionLimits } from './limits.ts'
import { MAX_RESPONSE_HEADER_SIZE, MAX_SETTING, toSessionLimits } from './limits.ts'
import { warnOfUnknownOptions } from './unknown-options.ts'
import { FIRST_CONNECTION_WINDOW } from './window-size.ts'

/** The first SETTINGS that a session sends. Missing ones aren't sent. The session chooses the stream window itself. */
export type SentSettings = Readonly<Omit<Http2Settings, 'initialWindowSize'>>

/** With every option present. Durations in milliseconds, 0 for never; sizes in bytes. */
export interface SessionOptions extends SessionLimits {
  /** Whether the caller has set `initialWindowSize`. */
  readonly isWindowGiven: boolean
  /** Whether the caller has set `connectionWindowSize`. If not, many streams make that window even larger. */
  readonly isConnectionWindowGiven: boolean
  /** The first connection window of an engine that can enlarge it later. */
  readonly firstConnectionWindow: number
  /** Whether the caller has set `pingInterval`. */
  readonly isPingIntervalGiven: boolean
  /** Whether a session sends only its first request until the server's limit is known. */
  readonly waitForSettings: boolean
  readonly settings: SentSettings
}

/** RFC 9113 §6.5.2: from 2^14 to 2^24 - 1. */
const MIN_FRAME_SIZE = 16_384
const MAX_FRAME_SIZE = 2 ** 24 - 1

function toObject(name: string, value: unknown): object {
  if (value === undefined || value === null) return {}
  if (typeof value !== 'object' || Array.isArray(value)) throw invalid(name, value, 'an object')
  return value
}

/** The value of an option that has two names, preceded by the name that the caller has used. */
function toOne(name: string, value: unknown, nested: string, nestedValue: unknown): [string, unknown] {
  const first = value ?? undefined
  const second = nestedValue ?? undefined
  if (second === undefined || first === second) return [name, first]
  if (first === undefined) return [nested, second]
  throw invalid(nested, second, `the same value as ${name} (${String(first)}), or only one of the two`)
}

/** Limits that `h2Options` can also contain, under the same names. */
type NestedName = keyof H2Options & keyof SessionLimits

const NESTED: readonly NestedName[] = ['connectionWindowSize', 'maxConcurrentStreams', 'pingInterval']

function isNested(name: string): name is NestedName {
  return NESTED.some((nested) => nested === name)
}

type SettingCheck = (name: string, value: unknown) => number | boolean

const toSetting: SettingCheck = (name, value) => toInteger(name, value, 0, 0, MAX_SETTING, 'units')

/** Every setting that can be given, except the stream window. */
const SETTINGS: Readonly<Record<keyof SentSettings, SettingCheck>> = {
  headerTableSize: toSetting,
  enablePush(name, value) {
    if (value !== false) throw invalid(name, value, "false: Dodici doesn't support server push")
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
  const settings: Record<string, number | boolean> = {
    enablePush: false,
    maxHeaderListSize: MAX_RESPONSE_HEADER_SIZE,
  }
  for (const [name, value] of Object.entries(given)) {
    if (name === 'initialWindowSize' || value === undefined) continue
    if (!isSettingName(name)) {
      const known = `one of initialWindowSize, ${Object.keys(SETTINGS).join(', ')}`
      throw invalid('h2Options.settings', name, known)
    }
    if (value === null)
      throw invalid(`h2Options.settings.${name}`, value, 'a value, or leave the setting out')
    settings[name] = SETTINGS[name](`h2Options.settings.${name}`, value)
  }
  return Object.freeze(settings)
}

/**
 * Checks and completes the options of a session.
 *
 * @throws InvalidArgumentError that names the option, its value, and what would be accepted.
 */
export function toSessionOptions(options: ClientOptions): SessionOptions {
  const h2Options: H2Options = toObject('h2Options', options.h2Options)
  warnOfUnknownOptions(h2Options, H2_OPTIONS, false)
  const settings: Http2Settings = toObject('h2Options.settings', h2Options.settings)
  const toGiven = (name: keyof SessionLimits): [string, unknown] => {
    const value = options[name]
    if (name === 'initialWindowSize') return toOne(name, value, `h2Options.settings.${name}`, settings[name])
    // undici's name, for any connection.
    if (name === 'maxSessionAge' && (value ?? null) === null) return ['clientTtl', options.clientTtl]
    return isNested(name) ? toOne(name, value, `h2Options.${name}`, h2Options[name]) : [name, value]
  }
  const isGiven = (name: keyof SessionLimits): boolean => toGiven(name)[1] !== undefined
  const limits = toSessionLimits(toGiven)
  const isConnectionWindowGiven = isGiven('connectionWindowSize')
  return Object.freeze({
    ...limits,
    isWindowGiven: isGiven('initialWindowSize'),
    isConnectionWindowGiven,
    // A window that the caller gives is used as given.
    firstConnectionWindow: isConnectionWindowGiven ? limits.connectionWindowSize : FIRST_CONNECTION_WINDOW,
    isPingIntervalGiven: isGiven('pingInterval'),
    waitForSettings: toBoolean('waitForSettings', options.waitForSettings, false),
    settings: toSettings(settings),
  })
}
