/**
 * Real sessions of HTTP/2, mutated at random, played to the wire engine's protocol core; and whole clients against
 * peers that say anything at all: `npm run fuzz -- --help`.
 *
 * What must hold is in test/protocol/support/fuzz.ts and in test/fuzz/round.ts; the tests play some of it.
 */
import { parseArgs } from 'node:util'
import { fuzzClients } from './fuzz/clients.mjs'
import { fuzzCore } from './fuzz/core.mjs'

const help = `Usage: node scripts/fuzz.mjs [options]

  --seconds N     how long, for each engine (default: 60; with --rounds or --seeds no limit)
  --seed N        the first seed; each round takes the next one (default: the time of day)
  --rounds N      stops after so many; 1, with the seed of a failure, plays that alone

  --clients       whole clients, in place of the protocol core
  --model NAME    whole clients with a model server in place of those peers: legal, illegal (wrong once, at a random place)
                  or both, one after the other
  --seeds A,B,…   plays these alone, and nothing else (--clients, --model)
  --engine NAME   of the clients: node, wire or both, one after the other (default: both)
  --workers N     processes at a time that play clients (default: 1)
  --keep-going    goes on after a failure, and sums up what failed
  --collect       collects garbage after each round: a crash that comes with that names its seed
  --verbose       writes down all that happens in a client's round
`

/** @type {Readonly<Record<string, ('node' | 'wire')[]>>} */
const ENGINES = { node: ['node'], wire: ['wire'], both: ['node', 'wire'] }

/** @type {Readonly<Record<string, ('legal' | 'illegal')[]>>} */
const MODELS = { legal: ['legal'], illegal: ['illegal'], both: ['legal', 'illegal'] }

function readOptions() {
  const text = /** @type {const} */ ({ type: 'string' })
  const flag = /** @type {const} */ ({ type: 'boolean' })
  const { values } = parseArgs({
    options: {
      ...{ seconds: text, seed: text, rounds: text, seeds: text, engine: text, model: text, workers: text },
      ...{ clients: flag, 'keep-going': flag, collect: flag, verbose: flag, help: flag },
    },
  })
  if (values.help === true) return null
  const number = (/** @type {string | undefined} */ value, /** @type {number} */ fallback) => {
    const given = value === undefined ? fallback : Number(value)
    if (!Number.isSafeInteger(given) || given < 0) throw new Error(`Not a whole number: ${value}\n\n${help}`)
    return given
  }
  const seeds = values.seeds?.split(',').map((seed) => number(seed, 0)) ?? null
  const hasEnd = values.rounds !== undefined || seeds !== null
  const engines = ENGINES[values.engine ?? 'both']
  if (engines === undefined) throw new Error(`No such engine: ${values.engine}\n\n${help}`)
  const models = values.model === undefined ? [null] : MODELS[values.model]
  if (models === undefined) throw new Error(`No such model: ${values.model}\n\n${help}`)
  return {
    engines,
    models,
    areClients: values.clients === true || values.model !== undefined,
    seconds: number(values.seconds, hasEnd ? 1e9 : 60),
    seed: seeds?.[0] ?? number(values.seed, Date.now() % 2 ** 31),
    seeds,
    rounds: seeds?.length ?? number(values.rounds, 1e12),
    workers: Math.max(1, number(values.workers, 1)),
    keepsGoing: values['keep-going'] === true,
    collects: values.collect === true,
    isVerbose: values.verbose === true,
  }
}

const options = readOptions()
if (options === null) process.stdout.write(help)
else if (!(await (options.areClients ? fuzzClients(options) : fuzzCore(options)))) process.exitCode = 1
