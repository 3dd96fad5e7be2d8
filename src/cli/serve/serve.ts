/**
 * `dodici serve`: files and test routes over HTTP/2, on loopback.
 *
 * @module
 */

import { realpath, stat } from 'node:fs/promises'
import { isSystemError } from '../certificates/cache-folder.ts'
import type { ExitCode } from '../cli-error.ts'
import { CliError, EXIT } from '../cli-error.ts'
import type { Command } from '../command.ts'
import { runServer, SERVER_OPTIONS, toServerPorts } from '../loopback/run-server.ts'
import { HELP, parseOptions, toOptionsHelp } from '../options.ts'
import type { Terminal } from '../terminal.ts'
import { toPrintable } from '../terminal.ts'
import { toBuiltInList } from './built-ins.ts'
import { Files } from './files.ts'
import { toPlainServer, toSecureServer } from './http-servers.ts'
import { LoopbackListener } from './loopback-listener.ts'
import { Requests } from './requests.ts'

const OPTIONS = {
  ...SERVER_OPTIONS,
  verbose: { type: 'boolean', short: 'v', help: 'print each request' },
  ...HELP,
} as const

const HELP_TEXT = `Serves files and test routes over HTTP/2, on loopback only.

Usage: dodici serve [OPTIONS] [DIR]

DIR is a folder to serve, without its dotfiles. These routes are always there:
/echo /headers /delay/MS /status/N /bytes/N /sse /trailers /ws

Options:
${toOptionsHelp(OPTIONS)}

The https certificate is signed by your private authority, which is created once
in your cache folder. No trust store contains it: 'dodici ca --help' says how to
trust it.
Press Ctrl-C to stop.`

export const serve: Command = {
  help: HELP_TEXT,
  run,
}

async function run(args: readonly string[], terminal: Terminal): Promise<ExitCode> {
  const { options, positionals } = parseOptions(args, OPTIONS)
  if (options.help) {
    terminal.print(HELP_TEXT)
    return EXIT.ok
  }
  const ports = toServerPorts(options)
  const root = await toRoot(positionals)
  const requests = new Requests(root === null ? null : new Files(root), options.verbose ? terminal : null)
  const title = root === null ? 'Serving test routes' : `Serving ${toPrintable(root)}`
  const facts = { title, contents: toBuiltInList(), example: '/headers' }
  const onPlain = toPlainServer(requests)
  return runServer(ports, facts, terminal, (host, port, certificate) => {
    const onSocket = certificate === null ? onPlain : toSecureServer(certificate, requests)
    return LoopbackListener.listen(host, port, onSocket)
  })
}

/** The folder to serve, with links resolved; null for none. */
async function toRoot(positionals: readonly string[]): Promise<string | null> {
  const [folder, ...rest] = positionals
  if (rest.length > 0) throw new CliError(`takes one DIR, not ${positionals.length}`, EXIT.usage)
  if (folder === undefined) return null
  try {
    const root = await realpath(folder)
    if ((await stat(root)).isDirectory()) return root
  } catch (error) {
    if (!isSystemError(error)) throw error
    throw new CliError(`can't serve '${folder}': ${error.message}`, EXIT.usage)
  }
  throw new CliError(`can't serve '${folder}': it isn't a folder`, EXIT.usage)
}
