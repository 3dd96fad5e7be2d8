/**
 * `dodici load`: many requests to one URL, and how fast the responses are.
 *
 * @module
 */

import { writeFile } from 'node:fs/promises'
import { isSystemError } from '../certificates/cache-folder.ts'
import type { ExitCode } from '../cli-error.ts'
import { CliError, EXIT } from '../cli-error.ts'
import type { Command } from '../command.ts'
import type { Terminal } from '../terminal.ts'
import { toChart } from './chart.ts'
import { requireConsent } from './consent.ts'
import type { LoadOptions } from './load-options.ts'
import { HELP_TEXT, readLoadOptions } from './load-options.ts'
import type { LoadProgress, LoadResult } from './load-threads.ts'
import { LoadThreads } from './load-threads.ts'
import { toJsonReport } from './report-json.ts'
import { toCount, toFailures, toTextReport } from './report-text.ts'

/** Milliseconds. */
const STATUS_INTERVAL = 1_000

export const load: Command = {
  name: 'load',
  synopsis: 'URL',
  summary: 'send many requests, and measure',
  help: HELP_TEXT,
  run,
}

async function run(args: readonly string[], terminal: Terminal): Promise<ExitCode> {
  const options = await readLoadOptions(args, () => terminal.input)
  if (options === null) {
    terminal.print(HELP_TEXT)
    return EXIT.ok
  }
  await requireConsent(options.url, options.isAgreed, terminal)
  const result = await measure(options, terminal)
  if (result === null) return EXIT.interrupted
  const { url, spec, isJson, chart } = options
  terminal.print(isJson ? toJsonReport(url, spec, result) : toTextReport(url, spec, result))
  if (chart !== null) await writeChart(chart, toChart(url, spec, result))
  if (result.isInterrupted) return EXIT.interrupted
  return toFailures(result) > 0 || result.lostWorkers.length > 0 ? EXIT.load : EXIT.ok
}

/** Null when the user has ended it before anything was measured. */
async function measure({ spec }: LoadOptions, terminal: Terminal): Promise<LoadResult | null> {
  const threads = new LoadThreads(spec)
  let isInterrupted = false
  void terminal.interrupted().then(() => {
    isInterrupted = true
    threads.interrupt()
  })
  let streams: number
  try {
    streams = await threads.open()
  } catch (error) {
    if (isInterrupted) return null
    throw error
  }
  const timer = terminal.hasStatus ? showProgress(threads, terminal) : null
  try {
    return await threads.run(streams)
  } finally {
    if (timer !== null) clearInterval(timer)
    terminal.status('')
  }
}

/** One line, once a second. */
function showProgress(threads: LoadThreads, terminal: Terminal): NodeJS.Timeout {
  let before: LoadProgress = threads.progress
  let seconds = 0
  return setInterval(() => {
    const { progress } = threads
    const rate = ((progress.responses - before.responses) / STATUS_INTERVAL) * 1_000
    before = progress
    seconds += STATUS_INTERVAL / 1_000
    terminal.status(
      `  ${seconds} s   ${toCount(rate)} requests/s   ${toCount(progress.responses)} responses   ` +
        `${toCount(progress.failures)} errors`,
    )
  }, STATUS_INTERVAL)
}

async function writeChart(path: string, chart: string): Promise<void> {
  try {
    await writeFile(path, chart)
  } catch (error) {
    if (!isSystemError(error)) throw error
    throw new CliError(`--chart can't write '${path}': ${error.message}`, EXIT.failure)
  }
}
