/**
 * `dodici serve`: files and test routes over HTTP/2, on loopback.
 *
 * @module
 */

import { realpath, stat } from 'node:fs/promises'
import { isSystemError, toCacheFolder } from '../certificates/cache-folder.ts'
import type { ServerCertificate } from '../certificates/certificate-store.ts'
import { loadServerCertificate } from '../certificates/certificate-store.ts'
import type { ExitCode } from '../cli-error.ts'
import { CliError, EXIT } from '../cli-error.ts'
import type { Command } from '../command.ts'
import { HELP, parseOptions, toInteger, toOptionsHelp } from '../options.ts'
import type { Terminal } from '../terminal.ts'
import { toBanner } from './banner.ts'
import { Files } from './files.ts'
import { LoopbackServer } from './loopback-server.ts'
import { Requests } from './requests.ts'

const DEFAULT_PORT = 8080
const DEFAULT_TLS_PORT = 8443
const MAX_PORT = 65_535

const OPTIONS = {
  port: { type: 'string', short: 'p', value: 'PORT', help: `without TLS; ${DEFAULT_PORT}, 0 for any` },
  'tls-port': { type: 'string', value: 'PORT', help: `with TLS; ${DEFAULT_TLS_PORT}, 0 for any` },
  'no-tls': { type: 'boolean', help: 'no TLS, and no certificates' },
  verbose: { type: 'boolean', short: 'v', help: 'a line for each request' },
  ...HELP,
} as const

const HELP_TEXT = `Serves files and test routes over HTTP/2, on loopback only.

Usage: dodici serve [OPTIONS] [DIR]

DIR is a folder; its dotfiles aren't served. Without it: the built-in routes,
/echo /headers /delay/MS /status/N /bytes/N /sse /trailers /ws

Options:
${toOptionsHelp(OPTIONS)}

The certificate of https is signed by an authority of your own, which is made
once, and kept in your cache folder. It is put into no trust store.
Ctrl-C ends it.`

export const serve: Command = {
  name: 'serve',
  synopsis: '[DIR]',
  summary: 'serve files and test routes on loopback',
  help: HELP_TEXT,
  run,
}

async function run(args: readonly string[], terminal: Terminal): Promise<ExitCode> {
  const { options, positionals } = parseOptions(args, OPTIONS)
  if (options.help) {
    terminal.print(HELP_TEXT)
    return EXIT.ok
  }
  const port = toPort('--port', options.port, DEFAULT_PORT)
  const tlsPort = toPort('--tls-port', options['tls-port'], DEFAULT_TLS_PORT)
  if (!options['no-tls'] && port === tlsPort && port !== 0) {
    throw new CliError(`--port and --tls-port are both ${port}`, EXIT.usage)
  }
  const root = await toRoot(positionals)
  const certificate = options['no-tls'] ? null : await loadCertificate(terminal)
  // Before the server listens: a signal that comes early isn't lost.
  const interrupted = terminal.interrupted()
  const requests = new Requests(root === null ? null : new Files(root), options.verbose ? terminal : null)
  const server = await LoopbackServer.listen({ port, tlsPort, certificate }, requests)
  terminal.print(toBanner({ root, port: server.port, tlsPort: server.tlsPort, certificate }))
  await interrupted
  await server.close()
  return EXIT.ok
}

function toPort(name: string, text: string | undefined, otherwise: number): number {
  return text === undefined ? otherwise : toInteger(name, text, 0, MAX_PORT)
}

function loadCertificate(terminal: Terminal): Promise<ServerCertificate> {
  return loadServerCertificate(toCacheFolder(terminal.env), new Date())
}

/** The folder that is served, without links; null for none. */
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
  throw new CliError(`can't serve '${folder}': it is no folder`, EXIT.usage)
}
