/**
 * The lines of `NODE_DEBUG=dodici`: what happens to sessions and requests, for someone who investigates an incident.
 * Node reads the variable when the process starts.
 *
 * @module
 */

import { debuglog } from 'node:util'

/** Writes one line. Text from a peer is shown in a way that keeps it on one line. */
export type DebugLog = (line: string) => void

/** Bytes that would end the line, or control a terminal. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what it is about
const CONTROL = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g

function toEscape(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}

/**
 * @param section the `section` in `NODE_DEBUG=dodici-section`
 * @param isPartOfAll whether `NODE_DEBUG=dodici` includes it
 */
function toLog(section: string, isPartOfAll = true): DebugLog | null {
  const names = isPartOfAll ? ['dodici', `dodici-${section}`] : [`dodici-${section}`]
  const log = names.map((name) => debuglog(name)).find(({ enabled }) => enabled)
  return log === undefined ? null : (line) => log('%s', line.replaceAll(CONTROL, toEscape))
}

/** `dodici-session`: connections over either protocol. Null when it is off. */
export const sessionLog: DebugLog | null = toLog('session')

/** `dodici-request`: calls and their attempts. Null when it is off. */
export const requestLog: DebugLog | null = toLog('request')

/** `dodici-frame`: each frame. `NODE_DEBUG=dodici` doesn't include these lines. Null when it is off. */
export const frameLog: DebugLog | null = toLog('frame', false)

/** How many of an error's causes are shown: a chain may be circular. */
const MAX_CAUSES = 4

/** An error, or any value from a caller, for one line: its code or name, its message, and its causes. */
export function toLogged(error: unknown, causes = MAX_CAUSES): string {
  try {
    if (!(error instanceof Error)) return String(error)
    const code: unknown = Reflect.get(error, 'code')
    const text = `${typeof code === 'string' ? code : error.name}: ${error.message}`
    return causes > 0 && error.cause instanceof Error
      ? `${text} < ${toLogged(error.cause, causes - 1)}`
      : text
  } catch {
    // A getter that throws, or a message that isn't text: the log must not end what it reports.
    return 'an error that cannot be shown'
  }
}
