/**
 * How a command ends.
 *
 * @module
 */

/** All commands' exit codes. docs/cli.md has the table. */
export const EXIT = {
  /** Done. */
  ok: 0,
  /** It couldn't be done, for a reason that no other code names. */
  failure: 1,
  /** A command, an option or an argument that doesn't exist, or has a wrong value. */
  usage: 2,
  /** The host's name, or the proxy's, has no address. */
  dns: 3,
  /** No connection: refused, unreachable, or refused by the proxy. */
  connect: 4,
  /** The TLS handshake failed, or the certificate isn't trusted. */
  tls: 5,
  /** The server doesn't speak HTTP/2, violates its rules, or ended the connection or the stream without a response. */
  protocol: 6,
  /** A time limit passed. */
  timeout: 7,
  /** The response's status is 400 or more, with `--fail`. */
  status: 8,
  /** A load has ended, but some of its requests failed, or a worker was lost. */
  load: 9,
  /** A port couldn't be listened on. */
  listen: 10,
  /** The output couldn't be written, for example because the disk is full. It is no error if a pipe's reader leaves. */
  write: 11,
  /** Ended by Ctrl-C or SIGTERM before it was done: 128 plus the number of SIGINT, as shells do it. */
  interrupted: 130,
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
