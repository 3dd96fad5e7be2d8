/**
 * What a command of the command line is.
 *
 * @module
 */

import type { ExitCode } from './cli-error.ts'
import type { Terminal } from './terminal.ts'

/** What `dodici COMMAND` does. */
export interface Command {
  /** All of `dodici COMMAND --help`: 80 columns and 24 lines at most. */
  readonly help: string
  /**
   * Does it.
   *
   * @param args those behind its name
   * @throws CliError with a message for the user
   */
  run(args: readonly string[], terminal: Terminal): Promise<ExitCode>
}

/** A command in the list of commands. */
export interface ListedCommand {
  readonly name: string
  /** What stands behind its name: `'[DIR]'`. */
  readonly synopsis: string
  /** One line, for the list of commands. */
  readonly summary: string
  /** Loads its code: `dodici --help` starts without it. */
  load(): Promise<Command>
}
