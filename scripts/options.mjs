/** The command lines of the tools: what a tool's help names is what it takes. */
import { parseArgs } from 'node:util'

/** A command line that asks for what isn't there. */
export class UsageError extends Error {}

/** An option in a help: `--name VALUE`, or `--name` alone for a flag, at the beginning of a line. */
const OPTION = /^ +--([a-z0-9-]+)(?: ([A-Z][A-Z,…]*))?(?= |$)/gm

/** What a command line says. */
export class Options {
  #values
  /** What stands beside the options. */
  positionals

  /** @param {Record<string, string | boolean | undefined>} values @param {string[]} positionals */
  constructor(values, positionals) {
    this.#values = values
    this.positionals = positionals
  }

  /** @param {string} name */
  flag(name) {
    return this.#values[name] === true
  }

  /** @param {string} name @returns {string | undefined} */
  text(name) {
    const value = this.#values[name]
    return typeof value === 'string' ? value : undefined
  }

  /**
   * A whole number.
   *
   * @template T @param {string} name @param {T} fallback @param {number} least
   * @returns {number | T}
   */
  count(name, fallback, least = 1) {
    const text = this.text(name)
    if (text === undefined) return fallback
    const number = Number(text)
    if (Number.isSafeInteger(number) && number >= least) return number
    throw new UsageError(`--${name} must be a whole number from ${least} up`)
  }

  /** Names, by commas. @param {string} name @param {readonly string[]} known @returns {string[] | undefined} */
  names(name, known) {
    const list = this.text(name)
      ?.split(',')
      .map((item) => item.trim())
    const unknown = list?.find((item) => !known.includes(item))
    if (unknown === undefined) return list
    throw new UsageError(`--${name}: no ${unknown}; there are: ${known.join(', ')}`)
  }

  /**
   * One of a few words, in a table that says what each stands for.
   *
   * @template T @param {string} name @param {Readonly<Record<string, T>>} table @param {string} fallback
   * @returns {T}
   */
  choice(name, table, fallback) {
    const word = this.text(name) ?? fallback
    if (Object.hasOwn(table, word)) return table[word]
    const words = Object.keys(table)
    throw new UsageError(`--${name} must be ${words.slice(0, -1).join(', ')} or ${words.at(-1)}`)
  }
}

/** The engines that `--engine` names. @type {Readonly<Record<string, ('node' | 'wire')[]>>} */
export const ENGINES = { node: ['node'], wire: ['wire'], both: ['node', 'wire'] }

/**
 * Reads the command line of this process; `--help` prints the help, and ends it.
 *
 * @param {string} help with a line for each option @param {boolean} [allowPositionals]
 */
export function readOptions(help, allowPositionals = false) {
  /** @type {[string, { type: 'string' | 'boolean' }][]} */
  const entries = [...help.matchAll(OPTION)].map(([, name, value]) => [
    name,
    { type: value === undefined ? 'boolean' : 'string' },
  ])
  const options = {
    ...Object.fromEntries(entries),
    help: { type: /** @type {const} */ ('boolean'), short: 'h' },
  }
  try {
    const { values, positionals } = parseArgs({ options, allowPositionals })
    if (values.help === true) {
      process.stdout.write(help)
      process.exit()
    }
    return new Options(/** @type {Record<string, string | boolean>} */ (values), positionals)
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error))
  }
}

/** Runs a command line to its end. @param {() => Promise<void>} main */
export async function runMain(main) {
  try {
    await main()
  } catch (error) {
    console.error(error instanceof UsageError ? `${error.message} (see --help)` : error)
    // By exit(), because children may still be open; leaving this way ends them.
    process.exit(error instanceof UsageError ? 2 : 1)
  }
}
