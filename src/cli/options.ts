/**
 * Parses a command's options.
 *
 * @module
 */

import { toNearestName } from '../options/nearest-name.ts'
import { CliError, EXIT } from './cli-error.ts'

/** One of a command's options. */
export interface OptionSpec {
  /** `boolean` takes no value. */
  readonly type: 'boolean' | 'string'
  /** One letter: `'v'` for `-v`. */
  readonly short?: string
  /** Whether it may be repeated. Otherwise, the last one counts. */
  readonly multiple?: boolean
  /** More names, such as curl's or h2load's. */
  readonly aliases?: readonly string[]
  /** One line of the help. */
  readonly help: string
  /** What the help calls its value: `'PORT'`. */
  readonly value?: string
}

/** curl's and h2load's options that a command doesn't have, and what to use. By name, with `-` or `--`. */
export type ForeignOptions = Readonly<Record<string, string>>

/** A command's options, by name without `--`. */
export type OptionSpecs = Readonly<Record<string, OptionSpec>>

type ValueOf<Spec extends OptionSpec> = Spec['type'] extends 'boolean'
  ? boolean
  : Spec['multiple'] extends true
    ? readonly string[]
    : string | undefined

/** What was given. */
export interface ParsedArgs<Specs extends OptionSpecs> {
  readonly options: { readonly [Name in keyof Specs]: ValueOf<Specs[Name]> }
  /** Options with a value, in their order: the names are the table's. */
  readonly given: readonly (readonly [name: string, value: string])[]
  readonly positionals: readonly string[]
}

/** Every command has it. */
export const HELP = { help: { type: 'boolean', short: 'h', help: 'show this help' } } as const

/**
 * Whether a word is meant as a URL, not as a command: it has a scheme, or a dot, a colon or a slash, which no command
 * has, or is `localhost`.
 */
export function isUrlLike(word: string): boolean {
  return !word.startsWith('-') && (/[.:/]/.test(word) || word.toLowerCase() === 'localhost')
}

/**
 * Splits arguments into options and the rest. Everything after `--` is the rest.
 *
 * @param foreign what the error says about an option that isn't in the table
 * @throws CliError for an option that isn't in the table, lacks a value, or has one that it doesn't accept
 */
export function parseOptions<const Specs extends OptionSpecs>(
  args: readonly string[],
  specs: Specs,
  foreign: ForeignOptions = {},
): ParsedArgs<Specs> {
  // Not an import: that would load more of Node than `dodici --help` needs.
  const { tokens } = process.getBuiltinModule('node:util').parseArgs({
    args: [...args],
    options: toNodeOptions(specs),
    strict: false,
    allowPositionals: true,
    tokens: true,
  })
  const values: Record<string, boolean | string | string[] | undefined> = {}
  for (const [name, spec] of Object.entries(specs)) {
    values[name] = spec.type === 'boolean' ? false : spec.multiple === true ? [] : undefined
  }
  const nameOf = new Map(
    Object.entries(specs).flatMap(([name, { aliases = [] }]) => aliases.map((alias) => [alias, name])),
  )
  const positionals: string[] = []
  const given: (readonly [name: string, value: string])[] = []
  for (const token of tokens) {
    if (token.kind === 'positional') positionals.push(token.value)
    if (token.kind !== 'option') continue
    const name = nameOf.get(token.name) ?? token.name
    const spec = Object.hasOwn(specs, name) ? specs[name] : undefined
    if (spec === undefined) throw new CliError(toUnknown(token.rawName, specs, foreign), EXIT.usage)
    const value = checkValue(token.rawName, spec, token.value)
    if (typeof value === 'string') given.push([name, value])
    const list = values[name]
    if (Array.isArray(list)) list.push(String(value))
    else values[name] = value
  }
  // The compiler can't follow the loop: each name in the table got a value of its type.
  return { options: values as ParsedArgs<Specs>['options'], given, positionals }
}

function toNodeOptions(specs: OptionSpecs): Record<string, { type: 'boolean' | 'string'; short?: string }> {
  const entries = Object.entries(specs).flatMap(([name, { type, short, aliases = [] }]) => [
    [name, short === undefined ? { type } : { type, short }] as const,
    ...aliases.map((alias) => [alias, { type }] as const),
  ])
  return Object.fromEntries(entries)
}

function checkValue(rawName: string, spec: OptionSpec, value: string | undefined): boolean | string {
  if (spec.type === 'boolean') {
    if (value === undefined) return true
    throw new CliError(`${rawName} takes no value`, EXIT.usage)
  }
  if (value !== undefined) return value
  throw new CliError(`${rawName} needs a value: ${rawName} ${spec.value ?? 'VALUE'}`, EXIT.usage)
}

function toUnknown(rawName: string, specs: OptionSpecs, foreign: ForeignOptions): string {
  if (Object.hasOwn(foreign, rawName)) return `unknown option '${rawName}': ${foreign[rawName]}`
  const names = Object.keys(specs).map((name) => `--${name}`)
  const aliases = Object.values(specs).flatMap(({ aliases = [] }) => aliases.map((name) => `--${name}`))
  return toUnknownMessage('option', rawName, names, aliases)
}

/**
 * Says what is unknown, what may have been meant, and what there is.
 *
 * @param aliases more names, not listed
 */
export function toUnknownMessage(
  what: string,
  given: string,
  known: readonly string[],
  aliases: readonly string[] = [],
): string {
  const nearest = toNearestName(given, [...known, ...aliases])
  const hint = nearest === null ? '' : ` Did you mean '${nearest}'?`
  return `unknown ${what} '${given}'.${hint}\nAvailable: ${known.join(', ')}`
}

/** The help's lines for a table of options. */
export function toOptionsHelp(specs: OptionSpecs): string {
  const rows = Object.entries(specs).map(([name, { short, value, help }]) => {
    const letter = short === undefined ? '    ' : `-${short}, `
    return { left: `  ${letter}--${name}${value === undefined ? '' : ` ${value}`}`, help }
  })
  const width = Math.max(...rows.map(({ left }) => left.length)) + 2
  return rows.map(({ left, help }) => left.padEnd(width) + help).join('\n')
}

/**
 * An option's whole number.
 *
 * @throws CliError if it isn't one, or is out of range
 */
export function toInteger(name: string, text: string, least: number, most: number): number {
  const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN
  if (value >= least && value <= most) return value
  throw new CliError(`${name} takes a whole number from ${least} to ${most}, not '${text}'`, EXIT.usage)
}

/** In milliseconds. A number without a unit is in seconds. */
const DURATION_UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 }

/** The longest time that Node's timers accept, in milliseconds: about 24 days. */
const MAX_DURATION = 2 ** 31 - 1

/**
 * An option's duration: `10` and `10s` are seconds, `500ms`, `1.5s`, `2m`, `1h`.
 *
 * @returns in milliseconds, at least 1
 * @throws CliError if it isn't one, or is out of range
 */
export function toDuration(name: string, text: string): number {
  const [, digits, unit = 's'] = /^(\d{1,10}(?:\.\d{1,6})?)(ms|s|m|h)?$/.exec(text) ?? []
  const duration = Math.round(Number(digits) * (DURATION_UNITS[unit] ?? Number.NaN))
  if (duration >= 1 && duration <= MAX_DURATION) return duration
  throw new CliError(`${name} takes a duration such as 10s, 500ms or 2m, not '${text}'`, EXIT.usage)
}
