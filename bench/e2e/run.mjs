/**
 * Puts HTTP/2 clients side by side in one run: `node bench/e2e/run.mjs --help`.
 */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { clients, ownClients, peerClient, referenceClient } from './clients/index.mjs'
import { describeMachine, readRevision } from './machine.mjs'
import { measureEntries } from './measure.mjs'
import { runMain, toCount, toNames, toServer, UsageError } from './options.mjs'
import { toPlans, toUsable } from './plans.mjs'
import { describe, describeSetting, toTables } from './print.mjs'
import { scenarios } from './scenarios.mjs'

const defaultScenarios = scenarios.filter(({ byDefault }) => byDefault.length > 0).map(({ name }) => name)

const apiNames = [...new Set(scenarios.flatMap(({ apis }) => apis))]

/** The client that the ratios are taken against by default: our other engine, if it takes part. */
const defaultAgainst = [referenceClient, peerClient, ownClients.node]

const results = fileURLToPath(new URL('../results', import.meta.url))

const help = `Usage: node bench/e2e/run.mjs [options]

  --rounds N          how often every client is measured (default: 5)
  --requests N        requests timed in a measurement (default: the scenario's, fewer for slow clients)
  --warmup N          requests before that (default: the same)
  --scenario A,B      ${scenarios.map(({ name }) => name).join(', ')}
                      (default: ${defaultScenarios.join(', ')})
  --clients A,B       ${Object.keys(clients).join(', ')} (default: all)
  --against A,B       those of them that ratios are taken against (default: ${defaultAgainst.join(', ')})
  --apis A,B          ${apiNames.join(', ')} (default: all that a scenario has)
  --server KIND       nghttpd or node (default: nghttpd where it is installed)
  --node FILE         the Node binary that runs the clients (default: this one)
  --dodici FILE       the build of dodici to measure (default: dist/ of this package)
  --results DIRECTORY where latest.json and the report go (default: bench/results)
  --json FILE         write the same as latest.json there, too
`

/** @returns {Record<string, string | undefined> | null} null: help is wanted */
function readValues() {
  const text = /** @type {const} */ ({ type: 'string' })
  const counts = ['rounds', 'requests', 'warmup']
  const more = ['scenario', 'clients', 'against', 'apis', 'server', 'node', 'dodici', 'results', 'json']
  const names = [...counts, ...more]
  const options = Object.fromEntries(names.map((name) => [name, text]))
  try {
    const { help, ...values } = parseArgs({
      options: { ...options, help: { type: 'boolean', short: 'h' } },
    }).values
    return help === true ? null : /** @type {Record<string, string>} */ (values)
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error))
  }
}

/** @param {Record<string, string | undefined>} values */
function toScenarios(values) {
  const all = scenarios.map(({ name }) => name)
  const wanted = toNames('scenario', values.scenario, all)
  const apis = toNames('apis', values.apis, apiNames)
  const chosen = scenarios
    .filter(({ name }) => (wanted ?? defaultScenarios).includes(name))
    .map((scenario) => {
      const own = wanted === undefined ? scenario.byDefault : scenario.apis
      return { ...scenario, apis: own.filter((api) => (apis ?? own).includes(api)) }
    })
    .filter(({ apis }) => apis.length > 0)
  if (chosen.length === 0)
    throw new UsageError('--apis: none of the scenarios has them; --scenario names others')
  return chosen
}

/** @param {Record<string, string | undefined>} values */
function toClients(values) {
  const all = Object.keys(clients)
  const chosen = toNames('clients', values.clients, all) ?? all
  const against = toNames('against', values.against, all)
  const stranger = against?.find((name) => !chosen.includes(name))
  if (stranger !== undefined) throw new UsageError(`--against: ${stranger} is none of the clients`)
  return { clients: chosen, against: against ?? defaultAgainst }
}

/** @param {Record<string, string | undefined>} values */
function toOptions(values) {
  for (const name of ['node', 'dodici']) {
    const file = values[name]
    if (file !== undefined && !existsSync(file)) throw new UsageError(`--${name}: there is no ${file}`)
  }
  return {
    rounds: toCount('rounds', values.rounds) ?? 5,
    requests: toCount('requests', values.requests),
    warmup: toCount('warmup', values.warmup),
    scenarios: toScenarios(values),
    ...toClients(values),
    server: toServer(values.server),
    node: values.node === undefined ? process.execPath : resolve(values.node),
    dodici: values.dodici === undefined ? null : resolve(values.dodici),
    results: values.results ?? results,
    json: values.json,
  }
}

/**
 * @param {import('../report/figures.mjs').Result} result
 * @param {ReturnType<typeof toOptions>} options
 */
async function write(result, { results, json }) {
  mkdirSync(results, { recursive: true })
  const latest = join(results, 'latest.json')
  const text = `${JSON.stringify(result, null, 2)}\n`
  for (const file of json === undefined ? [latest] : [latest, json]) writeFileSync(file, text)
  const { renderReport } = await import('../report/index.mjs')
  console.log(`Written: ${[latest, ...(await renderReport(result, results))].join(', ')}`)
}

async function main() {
  const values = readValues()
  if (values === null) {
    process.stdout.write(help)
    return
  }
  const options = toOptions(values)
  const machine = describeMachine(options)
  console.log(describeSetting(machine))
  console.log(`${options.rounds} rounds, median (min–max), ratios with a 95 % interval\n`)
  const clientNames = await toUsable(options.clients, machine.node, console.log)
  if (clientNames.length === 0) throw new UsageError('No client is left to measure.')

  const measured = []
  for (const scenario of options.scenarios) {
    const setting = { nodeVersion: machine.node, dodici: options.dodici }
    const plans = toPlans(scenario, clientNames, setting, console.log)
    if (plans.length === 0) {
      console.log(`${scenario.name}: no client is left to measure.\n`)
      continue
    }
    const entries = await measureEntries({ scenario, plans, ...options })
    console.log(`${describe(scenario)}\n\n${toTables(scenario, entries, options.against)}\n`)
    const { requests = scenario.requests, warmup = scenario.warmup } = options
    measured.push({ ...scenario, requests, warmup, entries })
  }

  const result = {
    schema: 1,
    date: new Date().toISOString(),
    command: ['npm run bench', ...(process.argv.length > 2 ? ['--', ...process.argv.slice(2)] : [])].join(
      ' ',
    ),
    machine,
    revision: readRevision(),
    rounds: options.rounds,
    scenarios: measured,
  }
  await write(result, options)
}

await runMain(main)
