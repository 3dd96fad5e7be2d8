/**
 * `dodici ca`: the certificate that makes a client trust `dodici serve` and `dodici faults`.
 *
 * @module
 */

import { copyFile } from 'node:fs/promises'
import { CliError, EXIT } from '../cli-error.ts'
import type { Command } from '../command.ts'
import { HELP, parseOptions, toOptionsHelp } from '../options.ts'
import { isSystemError, toCacheFolder } from './cache-folder.ts'
import { loadAuthorityPath } from './certificate-store.ts'

const help = `Copies the certificate that clients of 'serve' and 'faults' have to trust.

Usage:
  dodici ca FILE     copies it to FILE
  dodici ca          prints where it is: NODE_EXTRA_CA_CERTS="$(dodici ca)"

It belongs to a private authority on this machine, which is created if you have
none yet.

Options:
${toOptionsHelp(HELP)}`

/** `dodici ca`. */
export const ca: Command = {
  help,
  async run(args, terminal) {
    const { options, positionals } = parseOptions(args, HELP)
    if (options.help) {
      terminal.print(help)
      return EXIT.ok
    }
    const [file, ...others] = positionals
    if (others.length > 0) throw new CliError(`takes one FILE, not ${positionals.length}`, EXIT.usage)
    const path = await loadAuthorityPath(toCacheFolder(terminal.env), new Date())
    if (file === undefined) terminal.print(path)
    else await copyCertificate(path, file)
    return EXIT.ok
  },
}

async function copyCertificate(path: string, file: string): Promise<void> {
  try {
    await copyFile(path, file)
  } catch (error) {
    if (!isSystemError(error)) throw error
    throw new CliError(`can't write ${file}: ${error.message}`, EXIT.failure)
  }
}
