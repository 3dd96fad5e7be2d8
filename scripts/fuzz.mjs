/**
 * Real sessions of HTTP/2, mutated at random, played to the wire engine's protocol core; and whole clients against
 * peers that say anything at all: `npm run fuzz -- --help`.
 *
 * What must hold is in test/protocol/support/fuzz.ts and in test/tools/fuzz/round.ts; the tests play some of it.
 */
import { fuzzClients } from './fuzz/clients.mjs'
import { fuzzCore } from './fuzz/core.mjs'
import { ENGINES, readOptions, runMain, UsageError } from './options.mjs'

const help = `Usage: node scripts/fuzz.mjs [options]

  --seconds N     how long, for each engine (default: 60; with --rounds or --seeds no limit)
  --seed N        the first seed; each round takes the next one (default: the time of day)
  --rounds N      stops after so many; 1, with the seed of a failure, plays that alone

  --clients       whole clients, in place of the protocol core
  --model NAME    whole clients with a model server in place of those peers: legal, illegal (wrong once, at a random place)
                  or both, one after the other
  --seeds A,B,…   plays these alone, and nothing else (--clients, --model)
  --engine NAME   of the clients: node, wire or both, one after the other (default: both)
  --keep-going    goes on after a failure, and sums up what failed
  --collect       collects garbage after each round: a crash that comes with that names its seed
  --verbose       writes down all that happens in a client's round
`

/** @type {Readonly<Record<string, ('legal' | 'illegal')[]>>} */
const MODELS = { legal: ['legal'], illegal: ['illegal'], both: ['legal', 'illegal'] }

await runMain(async () => {
  const options = readOptions(help)
  const number = (/** @type {string} */ name, /** @type {number} */ fallback) =>
    options.count(name, fallback, 0)
  const seeds = options.text('seeds')?.split(',').map(Number) ?? null
  if (seeds?.some((seed) => !Number.isSafeInteger(seed)))
    throw new UsageError('--seeds must be whole numbers')
  const hasEnd = options.text('rounds') !== undefined || seeds !== null
  const hasModel = options.text('model') !== undefined
  const setting = {
    engines: options.choice('engine', ENGINES, 'both'),
    models: hasModel ? options.choice('model', MODELS, '') : [null],
    seconds: number('seconds', hasEnd ? 1e9 : 60),
    seed: seeds?.[0] ?? number('seed', Date.now() % 2 ** 31),
    seeds,
    rounds: seeds?.length ?? number('rounds', 1e12),
    keepsGoing: options.flag('keep-going'),
    collects: options.flag('collect'),
    isVerbose: options.flag('verbose'),
  }
  const areClients = options.flag('clients') || hasModel
  if (!(await (areClients ? fuzzClients(setting) : fuzzCore(setting)))) process.exitCode = 1
})
