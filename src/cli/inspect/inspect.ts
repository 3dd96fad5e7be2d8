/**
 * `dodici URL`: looks at an endpoint.
 *
 * @module
 */

import type { ExitCode } from '../cli-error.ts'
import { EXIT } from '../cli-error.ts'
import type { Command } from '../command.ts'
import type { Terminal } from '../terminal.ts'
import { Inspection } from './inspection.ts'
import { HELP_TEXT, toPlan } from './plan.ts'

/** Its name is never typed, but for `dodici URL --help`: any URL selects it. */
export const inspect: Command = {
  name: 'URL',
  synopsis: '',
  summary: 'look at an endpoint, and send it a request',
  help: HELP_TEXT,
  run,
}

async function run(args: readonly string[], terminal: Terminal): Promise<ExitCode> {
  const plan = await toPlan(args, terminal)
  if (plan !== null) return new Inspection(plan, terminal).run()
  terminal.print(HELP_TEXT)
  return EXIT.ok
}
