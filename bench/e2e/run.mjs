/** Puts HTTP/2 clients side by side in one run: `node bench/e2e/run.mjs --help`. */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { readOptions, runMain, UsageError } from '../../scripts/options.mjs'
import { clients, ownClients, peerClient, referenceClient } from './clients/index.mjs'
import { measureEntries } from './measure.mjs'
import { toPlans, toUsable } from './plans.mjs'
import { describe, describeSetting, toTables } from './print.mjs'
import { apiNames, scenarios } from './scenarios.mjs'
import { describeMachine, readRevision, toServer } from './servers.mjs'

const defaultScenarios = scenarios.filter(({ byDefault }) => byDefault.length > 0).map(({ name }) => name)
/** The client that the ratios are taken against by default: our other engine, if it takes part. */
const defaultAgainst = [referenceClient, peerClient, ownClients.node]

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

/** @param {import('../../scripts/options.mjs').Options} options */
function toScenarios(options) {
  const wanted = options.names(
    'scenario',
    scenarios.map(({ name }) => name),
  )
  const apis = options.names('apis', apiNames)
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

/** @param {import('../../scripts/options.mjs').Options} options @param {string} name */
function toExisting(options, name) {
  const file = options.text(name)
  if (file === undefined) return null
  if (!existsSync(file)) throw new UsageError(`--${name}: there is no ${file}`)
  return resolve(file)
}

function toSetting() {
  const options = readOptions(help)
  const all = Object.keys(clients)
  const chosen = options.names('clients', all) ?? all
  const against = options.names('against', all)
  const stranger = against?.find((name) => !chosen.includes(name))
  if (stranger !== undefined) throw new UsageError(`--against: ${stranger} is none of the clients`)
  return {
    node: toExisting(options, 'node') ?? process.execPath,
    dodici: toExisting(options, 'dodici'),
    rounds: options.count('rounds', 5),
    requests: options.count('requests', undefined),
    warmup: options.count('warmup', undefined),
    scenarios: toScenarios(options),
    clients: chosen,
    against: against ?? defaultAgainst,
    server: toServer(options),
    results: options.text('results') ?? fileURLToPath(new URL('../results', import.meta.url)),
    json: options.text('json'),
  }
}

await runMain(async () => {
  const setting = toSetting()
  const { rounds, dodici, results, json } = setting
  const machine = describeMachine(setting)
  console.log(describeSetting(machine))
  console.log(`${rounds} rounds, median (min–max), ratios with a 95 % interval\n`)
  const clientNames = await toUsable(setting.clients, machine.node, console.log)
  if (clientNames.length === 0) throw new UsageError('No client is left to measure.')

  const measured = []
  for (const scenario of setting.scenarios) {
    const plans = toPlans(scenario, clientNames, { nodeVersion: machine.node, dodici }, console.log)
    if (plans.length === 0) {
      console.log(`${scenario.name}: no client is left to measure.\n`)
      continue
    }
    const entries = await measureEntries({ ...setting, scenario, plans })
    console.log(`${describe(scenario)}\n\n${toTables(scenario, entries, setting.against)}\n`)
    const { requests = scenario.requests, warmup = scenario.warmup } = setting
    measured.push({ ...scenario, requests, warmup, entries })
  }
  const args = process.argv.slice(2)
  const result = {
    schema: 1,
    date: new Date().toISOString(),
    command: ['npm run bench', ...(args.length > 0 ? ['--', ...args] : [])].join(' '),
    machine,
    revision: readRevision(),
    rounds,
    scenarios: measured,
  }
  mkdirSync(results, { recursive: true })
  const latest = join(results, 'latest.json')
  for (const file of json === undefined ? [latest] : [latest, json])
    writeFileSync(file, `${JSON.stringify(result, null, 2)}\n`)
  const { renderReport } = await import('../report/index.mjs')
  console.log(`Written: ${[latest, ...(await renderReport(result, results))].join(', ')}`)
})
