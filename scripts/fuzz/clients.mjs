/** The fuzzer of whole clients. */
import { writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { compileScript } from '../support.mjs'
import { readProgress, watchRounds } from './watch.mjs'

/** Milliseconds: a round takes some tens of them. A round that takes so long will never end. */
const STANDSTILL = 30_000
/** Milliseconds between two lines of progress. */
const REPORT_EVERY = 10_000

/**
 * @typedef {object} ClientOptions
 * @property {('node' | 'wire')[]} engines one after the other
 * @property {readonly ('legal' | 'illegal' | null)[]} models of servers, one after the other; null: peers that say anything at all
 * @property {number} seconds for each engine
 * @property {number} seed
 * @property {readonly number[] | null} seeds in place of those that follow the first
 * @property {number} rounds for each engine
 * @property {boolean} keepsGoing
 * @property {boolean} collects whether garbage is collected after each round
 * @property {boolean} isVerbose
 */

/** @param {string} line */
function say(line) {
  process.stdout.write(`${line}\n`)
}

/**
 * @param {string} file @param {'node' | 'wire'} engine @param {'legal' | 'illegal' | null} model
 * @param {ClientOptions} options
 * @returns {Promise<boolean>} whether all held
 */
async function fuzzEngine(file, engine, model, { engines: _engines, models: _models, ...options }) {
  const { seed } = options
  const peers =
    model === null ? '' : `, with ${model === 'legal' ? 'a legal server' : 'a server that is wrong once'}`
  say(`Clients on engine ${engine}${peers}, Node ${process.versions.node}, from seed ${seed}`)
  const begun = Date.now()
  const sinceThen = () => `${((Date.now() - begun) / 1_000).toFixed(0)} s`
  const progress = join(dirname(file), `progress-${engine}`)
  writeFileSync(progress, '')
  const orders = { ...options, engine, model, step: 1 }
  const timer = setInterval(
    () => say(`At seed ${readProgress(progress, orders).seed} after ${sinceThen()}`),
    REPORT_EVERY,
  )
  const watch = { file, progress, standstill: STANDSTILL, say }
  const { played, hasFailed, nodeAborts } = await watchRounds(watch, orders)
  clearInterval(timer)
  if (nodeAborts > 0) say(`Node itself has aborted ${nodeAborts} × (~Http2Session(): docs/differences.md)`)
  const outcome = hasFailed ? 'FAILED' : 'all held'
  say(`Engine ${engine}: ${played} rounds from seed ${seed} in ${sinceThen()}; ${outcome}`)
  return !hasFailed
}

/** @param {ClientOptions} options @returns {Promise<boolean>} whether all held */
export async function fuzzClients(options) {
  const { file, remove } = compileScript('fuzz/child.mjs')
  let haveHeld = true
  try {
    for (const model of options.models)
      for (const engine of options.engines)
        haveHeld = (await fuzzEngine(file, engine, model, options)) && haveHeld
  } finally {
    remove()
  }
  return haveHeld
}
