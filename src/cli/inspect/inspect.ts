/**
 * `dodici URL`: inspects an endpoint.
 *
 * @module
 */

import type { ExitCode } from '../cli-error.ts'
import { CliError, EXIT } from '../cli-error.ts'
import type { Command } from '../command.ts'
import type { Terminal } from '../terminal.ts'
import { Inspection } from './inspection.ts'
import type { Plan } from './plan.ts'
import { HELP_TEXT, toPlan } from './plan.ts'
import { toRedirected } from './redirect.ts'
import { rehearse } from './rehearsal.ts'

export const inspect: Command = {
  help: HELP_TEXT,
  run,
}

async function run(args: readonly string[], terminal: Terminal): Promise<ExitCode> {
  const plan = await toPlan(args, terminal)
  if (plan === null) {
    terminal.print(HELP_TEXT)
    return EXIT.ok
  }
  const ending = new AbortController()
  void terminal.interrupted().then(() => ending.abort(new CliError('interrupted', EXIT.interrupted)))
  await rehearse(plan, ending.signal)
  const { timeout } = plan
  const timer =
    timeout === null ? undefined : setTimeout(() => ending.abort(toTimeoutError(timeout)), timeout)
  try {
    return await follow(plan, terminal, ending.signal)
  } finally {
    clearTimeout(timer)
  }
}

/** One call after the other, as long as redirects are followed. */
async function follow(first: Plan, terminal: Terminal, signal: AbortSignal): Promise<ExitCode> {
  let plan = first
  for (;;) {
    const inspection = new Inspection(plan, terminal, signal)
    const exitCode = await inspection.run()
    const { location, status } = inspection
    if (location === null) return exitCode
    plan = toRedirected(plan, status, location)
  }
}

function toTimeoutError(timeout: number): CliError {
  return new CliError(`timed out after ${timeout} ms (--timeout)`, EXIT.timeout)
}
