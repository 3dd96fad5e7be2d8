/**
 * `dodici`: finds the command, and reports how it ended.
 *
 * @module
 */

import type { ExitCode } from './cli-error.ts'
import { CliError, EXIT } from './cli-error.ts'
import type { ListedCommand } from './command.ts'
import { COMMANDS, INSPECT } from './commands.ts'
import { HELP, isUrlLike, parseOptions, toOptionsHelp, toUnknownMessage } from './options.ts'
import type { Terminal } from './terminal.ts'
import { toPrintable } from './terminal.ts'

const OPTIONS = {
  ...HELP,
  version: { type: 'boolean', short: 'V', help: 'show the version' },
} as const

/**
 * Runs a command line to its end.
 *
 * @param args the arguments after `dodici`
 * @param toVersion reads the version for `--version`
 * @returns the exit code
 */
export async function runCli(
  args: readonly string[],
  toVersion: () => string,
  terminal: Terminal,
): Promise<ExitCode> {
  const { command, rest } = toCommand(args)
  const exitCode = await run(command, rest, toVersion, terminal)
  await terminal.flush()
  const { failure } = terminal
  if (failure === null) return exitCode
  const written = report(new CliError(failure, EXIT.write), command, terminal)
  return exitCode === EXIT.ok ? written : exitCode
}

async function run(
  command: ListedCommand | undefined,
  args: readonly string[],
  toVersion: () => string,
  terminal: Terminal,
): Promise<ExitCode> {
  try {
    if (command === undefined) return runAlone(args, toVersion, terminal)
    return await (await command.load()).run(args, terminal)
  } catch (error) {
    return report(error, command, terminal)
  }
}

/**
 * The command, and its arguments. The command comes first, except for `dodici URL`: a URL may follow options. Options
 * without a command and without a URL belong to `dodici` itself.
 */
function toCommand(args: readonly string[]): { command: ListedCommand | undefined; rest: readonly string[] } {
  const [first = '', ...rest] = args
  const named = COMMANDS.find(({ name }) => name === first)
  if (named !== undefined) return { command: named, rest }
  const isInspect = isUrlLike(first) || (first.startsWith('-') && args.some(isUrlLike))
  return { command: isInspect ? INSPECT : undefined, rest: args }
}

/** Without a command. */
function runAlone(args: readonly string[], toVersion: () => string, terminal: Terminal): ExitCode {
  const [first] = args
  if (first !== undefined && !first.startsWith('-')) {
    const names = COMMANDS.map(({ name }) => name)
    throw new CliError(toUnknownMessage('command', first, names), EXIT.usage)
  }
  const { options } = parseOptions(args, OPTIONS)
  if (options.version) terminal.print(toVersion())
  else if (options.help) terminal.print(toHelp())
  else {
    terminal.warn(toHelp())
    return EXIT.usage
  }
  return EXIT.ok
}

/** At most 80 columns and 24 lines. */
export function toHelp(): string {
  const names = COMMANDS.map(({ name, synopsis }) => `  dodici ${name} ${synopsis}`.trimEnd())
  const width = Math.max(...names.map((name) => name.length)) + 4
  const lines = COMMANDS.map(({ summary }, index) => (names[index] ?? '').padEnd(width) + summary)
  return `HTTP/2 from the command line.

Usage:
${lines.join('\n')}

Options:
${toOptionsHelp(OPTIONS)}

'dodici URL --help' and 'dodici COMMAND --help' list all options.`
}

function report(error: unknown, command: ListedCommand | undefined, terminal: Terminal): ExitCode {
  const name = command === undefined || command === INSPECT ? 'dodici' : `dodici ${command.name}`
  if (!(error instanceof CliError)) {
    // A bug: the stack says where.
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error)
    terminal.warn(`${name}: ${text}`)
    return EXIT.failure
  }
  const message = error.message.split('\n').map(toPrintable).join('\n')
  const help = command === undefined ? 'dodici --help' : `dodici ${command.name} --help`
  const hint = error.exitCode === EXIT.usage ? `\n'${help}' shows more.` : ''
  terminal.warn(`${name}: ${message}${hint}`)
  return error.exitCode
}
