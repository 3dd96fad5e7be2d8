/**
 * `dodici faults`: a server on loopback that misbehaves by path.
 *
 * @module
 */

import type { FaultServer } from '../../testing/index.ts'
import type { ServerCertificate } from '../certificates/certificate-store.ts'
import type { ExitCode } from '../cli-error.ts'
import { CliError, EXIT } from '../cli-error.ts'
import type { Command } from '../command.ts'
import { runServer, SERVER_OPTIONS, toServerPorts } from '../loopback/run-server.ts'
import { HELP, parseOptions, toInteger, toOptionsHelp } from '../options.ts'
import type { Terminal } from '../terminal.ts'
import { BEHAVIOURS } from './behaviours.ts'
import { FaultRoutes } from './fault-routes.ts'
import { Journal } from './journal.ts'
import { checkPresets, PRESET_NAMES, toPresets } from './presets.ts'

const MAX_REQUESTS = 1_000_000
/** The help's width, in columns. */
const WIDTH = 80

const OPTIONS = {
  ...SERVER_OPTIONS,
  preset: { type: 'string', multiple: true, value: 'NAME', help: 'imitate a real server, too' },
  requests: { type: 'string', value: 'N', help: 'requests before the preset retires a connection' },
  verbose: { type: 'boolean', short: 'v', help: 'print each frame that arrives' },
  ...HELP,
} as const

const PATHS = toLines(BEHAVIOURS.map(({ path }) => path))

const HELP_TEXT = `Serves HTTP/2 faults by path for testing clients, on loopback only.

Usage: dodici faults [OPTIONS]

${PATHS}
/ lists all names and codes, and says what a correct client does.

Options:
${toOptionsHelp(OPTIONS)}

Presets: ${toLines(PRESET_NAMES, 'Presets: '.length)}
Press Ctrl-C to stop.`

export const faults: Command = {
  help: HELP_TEXT,
  run,
}

async function run(args: readonly string[], terminal: Terminal): Promise<ExitCode> {
  const { options, positionals } = parseOptions(args, OPTIONS)
  if (options.help) {
    terminal.print(HELP_TEXT)
    return EXIT.ok
  }
  if (positionals.length > 0) throw new CliError(`takes only options, not '${positionals[0]}'`, EXIT.usage)
  const ports = toServerPorts(options)
  const { requests: text } = options
  const requests = text === undefined ? null : toInteger('--requests', text, 1, MAX_REQUESTS)
  const presetNames = checkPresets(options.preset, requests)

  const testing = await import('../../testing/index.ts')
  const plain = new FaultRoutes(testing, false)
  const secure = new FaultRoutes(testing, true)
  const presets = toPresets(testing, presetNames, requests)
  const journal = new Journal(options.verbose ? terminal : null)
  const facts = { title: 'Misbehaving', contents: PATHS, example: '/' }
  return runServer(ports, facts, terminal, async (host, port, certificate) => {
    const routes = certificate === null ? plain : secure
    const shared = { host, port, http1: routes.onHttp1 }
    const server: FaultServer = await testing.createFaultServer({ ...shared, ...toSecurity(certificate) })
    // No connection can be noticed before these rules are there: it arrives in a later turn of the event loop.
    routes.addTo(server)
    for (const preset of presets) server.use(preset)
    journal.addTo(server, certificate !== null)
    return server
  })
}

/** The options for a fault server with or without TLS. */
function toSecurity(certificate: ServerCertificate | null): { h2c: true } | { key: string; cert: string } {
  return certificate === null ? { h2c: true } : { key: certificate.key, cert: certificate.cert }
}

/**
 * Words in lines of the help.
 *
 * @param indent how many columns come before the first line, and so before each line
 */
function toLines(words: readonly string[], indent = 0): string {
  const lines: string[] = []
  for (const word of words) {
    const last = lines.at(-1)
    if (last === undefined || indent + last.length + word.length >= WIDTH) lines.push(word)
    else lines[lines.length - 1] = `${last} ${word}`
  }
  return lines.join(`\n${' '.repeat(indent)}`)
}
