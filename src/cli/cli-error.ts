/**
 * How a command ends.
 *
 * @module
 */

/** Exit codes of all commands. docs/cli.md has the table. */
export const EXIT = {
  /** Done. */
  ok: 0,
  /** It couldn't be done, for a reason that no other code names. */
  failure: 1,
  /** A command, an option or an argument that doesn't exist, or has a wrong value. */
  usage: 2,
  /** A port couldn't be listened on. */
  listen: 10,
} as const

export type ExitCode = (typeof EXIT)[keyof typeof EXIT]

/** Ends a command: the message is for the user. */
export class CliError extends Error {
  readonly exitCode: ExitCode

  constructor(message: string, exitCode: ExitCode) {
    super(message)
    this.name = 'CliError'
    this.exitCode = exitCode
  }
}
