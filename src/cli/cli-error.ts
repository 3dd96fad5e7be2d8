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
  /** The name of the host, or of the proxy, has no address. */
  dns: 3,
  /** No connection: refused, unreachable, or refused by the proxy. */
  connect: 4,
  /** The TLS handshake failed, or the certificate isn't trusted. */
  tls: 5,
  /** The server doesn't speak HTTP/2, breaks its rules, or ended the connection or the stream without a response. */
  protocol: 6,
  /** A time limit passed. */
  timeout: 7,
  /** The response's status is 400 or more, with `--fail`. */
  status: 8,
  /** A load came to its end, and requests of it failed, or a worker was lost. */
  load: 9,
  /** A port couldn't be listened on. */
  listen: 10,
  /** What it has to say couldn't be written: a full disk, for example. The reader of a pipe may leave. */
  write: 11,
  /** Ended by Ctrl-C or SIGTERM before it was done: 128 and the number of SIGINT, as shells have it. */
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
