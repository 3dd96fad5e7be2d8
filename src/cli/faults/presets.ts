/**
 * `--preset`: behaves like real servers.
 *
 * @module
 */

import type { Preset } from '../../testing/index.ts'
import { CliError, EXIT } from '../cli-error.ts'
import { toUnknownMessage } from '../options.ts'
import type { Testing } from './behaviours.ts'

type PresetName = keyof Testing['presets']

/** Whether each retires connections after a number of requests. For a new one, the compiler reports an error here. */
const RETIRES = {
  nginxThatRetires: true,
  apacheThatRestarts: true,
  grpcGoThatCountsPings: false,
  nodeThatEndsByReset: false,
  albThatDrains: true,
} as const satisfies Readonly<Record<PresetName, boolean>>

type Retiring = { [Name in PresetName]: (typeof RETIRES)[Name] extends true ? Name : never }[PresetName]

const ALL = Object.keys(RETIRES) as PresetName[]

/** The names as options spell them: `nginx-that-retires`. */
export const PRESET_NAMES: readonly string[] = ALL.map(toOptionName)

/** @throws CliError for an unknown name, or if requests are given for a preset that doesn't count them */
export function checkPresets(names: readonly string[], requests: number | null): readonly PresetName[] {
  const presets = names.map((given) => {
    const preset = ALL.find((name) => toOptionName(name) === given)
    if (preset !== undefined) return preset
    throw new CliError(toUnknownMessage('preset', given, PRESET_NAMES), EXIT.usage)
  })
  if (requests !== null && !presets.some(isRetiring)) {
    const those = ALL.filter(isRetiring).map(toOptionName).join(', ')
    throw new CliError(`--requests needs a --preset that counts requests: ${those}`, EXIT.usage)
  }
  return presets
}

/**
 * The presets' rules.
 *
 * @param requests null for each preset's own number
 */
export function toPresets(
  { presets }: Testing,
  names: readonly PresetName[],
  requests: number | null,
): Preset[] {
  return names.map((name) => {
    return requests !== null && isRetiring(name) ? presets[name]({ requests }) : presets[name]()
  })
}

function isRetiring(name: PresetName): name is Retiring {
  return RETIRES[name]
}

function toOptionName(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
}
