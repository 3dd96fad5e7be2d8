/**
 * `dodici load`: many requests to one URL, and how fast the responses are.
 *
 * @module
 */

import { writeFile } from 'node:fs/promises'
import { noop } from '../../core/noop.ts'
import { isSystemError } from '../certificates/cache-folder.ts'
import type { ExitCode } from '../cli-error.ts'
import { CliError, EXIT } from '../cli-error.ts'
import type { Command } from '../command.ts'
import type { Terminal } from '../terminal.ts'
import { toChart } from './chart.ts'
import { requireConsent } from './consent.ts'
import { toHdrLog } from './hdr-log.ts'
import type { LoadOptions } from './load-options.ts'
import { HELP_TEXT, readLoadOptions } from './load-options.ts'
import type { LoadProgress, LoadResult } from './load-threads.ts'
import { LoadThreads } from './load-threads.ts'
import { toPercentileText } from './percentile-text.ts'
import { toJsonReport } from './report-json.ts'
import { toCount, toFailedShare, toFailures, toTextReport } from './report-text.ts'

/** In milliseconds. */
const STATUS_INTERVAL = 1_000

/** Clears the rest of a terminal's line (ECMA-48 §8.3.41, EL). */
const CLEAR_REST = '\u001b[K'

export const load: Command = {
  help: HELP_TEXT,
  run,
}

async function run(args: readonly string[], terminal: Terminal): Promise<ExitCode> {
  const options = await readLoadOptions(args, () => terminal.input)
  if (options === null) {
    terminal.print(HELP_TEXT)
    return EXIT.ok
  }
  await requireConsent(options.url, options.spec.address?.addresses ?? null, options.isAgreed, terminal)
  const beganAt = Date.now()
  const result = await measure(options, terminal)
  const { url, spec, isJson, chart, hdr, mayFail } = options
  terminal.print(isJson ? toJsonReport(url, spec, result) : toTextReport(url, spec, result))
  if (chart !== null) await writeFileOf('--chart', chart, toChart(url, spec, result))
  if (hdr !== null) {
    const { latency } = result.tally
    const isText = hdr.endsWith('.hgrm')
    await writeFileOf(
      '--hdr',
      hdr,
      isText ? toPercentileText(latency) : toHdrLog(latency, beganAt, result.lasted),
    )
  }
  if (result.isInterrupted) return EXIT.interrupted
  const share = toFailedShare(result)
  if (mayFail !== null && share > mayFail)
    throw new CliError(
      `${(share * 100).toFixed(2)} % of the requests got no 2xx or 3xx response`,
      EXIT.status,
    )
  return toFailures(result) > 0 || result.lostWorkers.length > 0 ? EXIT.load : EXIT.ok
}

/** @throws CliError if the sessions can't be opened, or the user ended it before they were */
async function measure({ spec }: LoadOptions, terminal: Terminal): Promise<LoadResult> {
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
    throw isInterrupted ? new CliError('interrupted before the load began', EXIT.interrupted) : error
  }
  const hideProgress = terminal.isErrorTerminal ? showProgress(threads, terminal) : noop
  try {
    return await threads.run(streams)
  } finally {
    hideProgress()
  }
}

/**
 * Replaces one line on a terminal, once a second.
 *
 * @returns a function that stops that, and removes the line
 */
function showProgress(threads: LoadThreads, terminal: Terminal): () => void {
  let before: LoadProgress = threads.progress
  let seconds = 0
  const timer = setInterval(() => {
    const { progress } = threads
    const rate = ((progress.responses - before.responses) / STATUS_INTERVAL) * 1_000
    before = progress
    seconds += STATUS_INTERVAL / 1_000
    const counts = `${toCount(progress.responses)} responses   ${toCount(progress.failures)} errors`
    terminal.draw(`\r  ${seconds} s   ${toCount(rate)} requests/s   ${counts}${CLEAR_REST}`)
  }, STATUS_INTERVAL)
  return () => {
    clearInterval(timer)
    terminal.draw(`\r${CLEAR_REST}`)
  }
}

async function writeFileOf(option: string, path: string, text: string): Promise<void> {
  try {
    await writeFile(path, text)
  } catch (error) {
    if (!isSystemError(error)) throw error
    throw new CliError(`${option} can't write '${path}': ${error.message}`, EXIT.write)
  }
}
