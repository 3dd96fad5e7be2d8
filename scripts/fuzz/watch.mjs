/** Plays rounds in processes, and watches them from outside, since they may crash or hang. */
import { spawn } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'

/** Milliseconds between two looks. */
const LOOK_EVERY = 250
/** A crash may come from the garbage of an earlier round: so many rounds are played again, each with a collection. */
const SUSPECTS = 150
/** Characters that are kept of a process's last output. */
const MAX_ERRORS = 10_000

/**
 * @typedef {object} Orders the arguments of a process
 * @property {'node' | 'wire'} engine
 * @property {'legal' | 'illegal' | null} model
 * @property {number} seed
 * @property {number} step to the next seed
 * @property {readonly number[] | null} seeds in place of the two
 * @property {number} rounds
 * @property {number} seconds
 * @property {boolean} keepsGoing
 * @property {boolean} collects whether garbage is collected after each round
 * @property {boolean} isVerbose
 */

/**
 * The message with which Node itself aborts the process, whatever its user does (docs/differences.md). Such an abort is
 * reported and counted, and is no failure. It depends on garbage collection, so a seed seldom repeats it.
 */
const NODE_ABORT = /Http2Session::~Http2Session\(\)[\s\S]*current_nghttp2_memory_/

/**
 * @typedef {object} Run
 * @property {boolean} hasFailed
 * @property {string | null} crash
 * @property {boolean} isNodes whether the crash is Node's own
 * @property {number} seed the one that was begun last
 * @property {number} played
 */

/**
 * @typedef {object} Watch
 * @property {string} file the script of the process
 * @property {string} progress the file in which the process writes its progress
 * @property {number} standstill milliseconds that a round may take
 * @property {(line: string) => void} say
 */

/**
 * One process, until it ends.
 *
 * @param {Watch} watch @param {Orders} orders @param {'inherit' | 'ignore'} output
 * @returns {Promise<Run>}
 */
function runOnce({ file, progress, standstill }, orders, output = 'inherit') {
  writeFileSync(progress, '')
  const given = JSON.stringify({ ...orders, progress })
  const child = spawn(process.execPath, ['--expose-gc', '--enable-source-maps', file, given], {
    stdio: ['ignore', output, 'pipe'],
  })
  let errors = ''
  child.stderr.setEncoding('utf8').on('data', (/** @type {string} */ text) => {
    errors = (errors + text).slice(-MAX_ERRORS)
    if (output === 'inherit') process.stderr.write(text)
  })
  let last = { text: '', at: Date.now() }
  let isStuck = false
  const timer = setInterval(() => {
    const text = readFileSync(progress, 'latin1')
    if (text !== last.text) last = { text, at: Date.now() }
    if (Date.now() - last.at < standstill) return
    isStuck = true
    child.kill('SIGKILL')
  }, LOOK_EVERY)
  return new Promise((resolve) => {
    // Not 'exit': the last output may come after that.
    child.on('close', (code, signal) => {
      clearInterval(timer)
      const how = isStuck ? `has stood still for ${standstill / 1_000} s` : `has ended with ${signal ?? code}`
      const isCrash = isStuck || (code !== 0 && code !== 1)
      const isNodes = signal === 'SIGABRT' && orders.engine === 'node' && NODE_ABORT.test(errors)
      const crash = isCrash ? how : null
      resolve({ hasFailed: code !== 0 && !isNodes, crash, isNodes, ...readProgress(progress, orders) })
    })
  })
}

/**
 * @param {string} file @param {Orders} orders
 * @returns {{ seed: number, played: number }} the seed that was begun last, and how many were played before it
 */
export function readProgress(file, { seed }) {
  const [current = seed, played = 0] = readFileSync(file, 'latin1')
    .trim()
    .split(/\s+/)
    .filter(Boolean)
    .map(Number)
  return { seed: current, played }
}

/**
 * Plays rounds until all are played, or one has failed; after a crash, the rest of them if the orders say so, or if the
 * crash is Node's own.
 *
 * @param {Watch} watch @param {Orders} orders
 * @returns {Promise<{ hasFailed: boolean, played: number, nodeAborts: number }>}
 */
export async function watchRounds(watch, orders) {
  const end = Date.now() + orders.seconds * 1_000
  let hasFailed = false
  let played = 0
  let nodeAborts = 0
  for (let seed = orders.seed; played < orders.rounds && Date.now() < end; ) {
    const left = { ...orders, seed, rounds: orders.rounds - played, seconds: (end - Date.now()) / 1_000 }
    const run = await runOnce(watch, left)
    hasFailed ||= run.hasFailed
    played += run.played + (run.crash === null ? 0 : 1)
    if (run.isNodes) nodeAborts++
    else if (run.crash !== null) await tellCrash(watch, left, run)
    if (run.crash === null || !(orders.keepsGoing || run.isNodes) || orders.seeds !== null) break
    seed = run.seed + orders.step
  }
  return { hasFailed, played, nodeAborts }
}

/** Names the seed of a crash. @param {Watch} watch @param {Orders} orders @param {Run} run */
async function tellCrash(watch, orders, { seed, crash, played }) {
  const suspects = Math.min(SUSPECTS, played + 1)
  const first = seed - (suspects - 1) * orders.step
  const again = { ...orders, seed: first, rounds: suspects, seconds: 1e9, collects: true, isVerbose: false }
  const { engine } = orders
  watch.say(`Engine ${engine}, Node ${process.versions.node}, seed ${seed}: the process ${crash}`)
  if (suspects === 1 || orders.seeds !== null) return
  watch.say(`${suspects} rounds are played again, with a collection after each`)
  const run = await runOnce(watch, { ...again, keepsGoing: true }, 'ignore')
  const what = run.crash === null ? 'nothing of it' : `seed ${run.seed}: the process ${run.crash}`
  watch.say(`Again came ${what}`)
}
