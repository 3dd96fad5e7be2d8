/**
 * What a command of the command line is.
 *
 * @module
 */

import type { ExitCode } from './cli-error.ts'
import type { Terminal } from './terminal.ts'

/** What `dodici COMMAND` does. */
export interface Command {
  /** The whole output of `dodici COMMAND --help`: at most 80 columns and 24 lines. */
  readonly help: string
  /**
   * Runs it.
   *
   * @param args the arguments after its name
   * @throws CliError with a message for the user
   */
  run(args: readonly string[], terminal: Terminal): Promise<ExitCode>
}

/** A command in the list of commands. */
export interface ListedCommand {
  readonly name: string
  /** What follows its name: `'[DIR]'`. */
  readonly synopsis: string
  /** One line, for the list of commands. */
  readonly summary: string
  /** Loads its code: `dodici --help` starts without it. */
  load(): Promise<Command>
}
