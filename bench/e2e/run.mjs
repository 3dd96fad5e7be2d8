/**
 * Puts HTTP/2 clients side by side in one run: `node bench/e2e/run.mjs --help`.
 */
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { arch, availableParallelism, cpus, loadavg, platform, release, totalmem } from 'node:os'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { cores, outputOf, start } from './children.mjs'
import { clientNamed, clients, peerClient, referenceClient } from './clients/index.mjs'
import { scenarios } from './scenarios.mjs'
import { maxStreams, nghttpdVersion, startServer } from './servers.mjs'
import { median, pairedRatio } from './statistics.mjs'

/** @typedef {import('./scenarios.mjs').Scenario} Scenario */
/** @typedef {import('./worker.mjs').Measurement} Measurement */

const defaultScenarios = scenarios.filter(({ byDefault }) => byDefault.length > 0).map(({ name }) => name)

const apiNames = [...new Set(scenarios.flatMap(({ apis }) => apis))]

const defaultApis = [...new Set(scenarios.flatMap(({ byDefault }) => byDefault))]

const help = `Usage: node bench/e2e/run.mjs [options]

  --rounds N          how often every client is measured (default: 9)
  --requests N        requests timed in a measurement (default: the scenario's)
  --warmup N          requests before that (default: the scenario's)
  --scenario A,B      ${scenarios.map(({ name }) => name).join(', ')}
                      (default: ${defaultScenarios.join(', ')})
  --clients A,B       ${Object.keys(clients).join(', ')} (default: all)
  --apis A,B          ${apiNames.join(', ')}
                      (default: all that a named scenario has, otherwise ${defaultApis.join(' and ')})
  --server KIND       nghttpd or node (default: nghttpd where it is installed)
  --node FILE         the Node binary that runs the clients (default: this one)
  --json FILE         write the machine, the versions and all rounds there
`

/** Where tunnels shall lead to: a name that no server looks at. */
const tunnelAuthority = 'example.com:443'

class UsageError extends Error {}

/**
 * @param {string} name
 * @param {string | undefined} value
 * @returns {number | undefined}
 */
function count(name, value) {
  if (value === undefined) return undefined
  const number = Number(value)
  if (!Number.isSafeInteger(number) || number < 1)
    throw new UsageError(`--${name} must be a whole number from 1 up`)
  return number
}

/**
 * @param {string} name
 * @param {string | undefined} value
 * @param {readonly string[]} known
 * @returns {string[] | undefined}
 */
function names(name, value, known) {
  const list = value?.split(',').map((item) => item.trim())
  for (const item of list ?? []) {
    if (!known.includes(item)) throw new UsageError(`--${name}: no ${item}; there are: ${known.join(', ')}`)
  }
  return list
}

function readOptions() {
  const text = /** @type {const} */ ({ type: 'string' })
  /** @type {Record<string, string | boolean | undefined>} */
  let values
  try {
    values = parseArgs({
      options: {
        rounds: text,
        requests: text,
        warmup: text,
        scenario: text,
        clients: text,
        apis: text,
        server: text,
        node: text,
        json: text,
        help: { type: 'boolean', short: 'h' },
      },
    }).values
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error))
  }
  if (values.help === true) return null

  const given = (/** @type {string} */ name) => (typeof values[name] === 'string' ? values[name] : undefined)
  const server = given('server') ?? (nghttpdVersion === null ? 'node' : 'nghttpd')
  if (server !== 'node' && server !== 'nghttpd') throw new UsageError('--server must be nghttpd or node')
  if (server === 'nghttpd' && nghttpdVersion === null) throw new UsageError('nghttpd is not installed')
  const scenarioNames = names(
    'scenario',
    given('scenario'),
    scenarios.map(({ name }) => name),
  )
  const apiList = names('apis', given('apis'), apiNames)
  const chosen = scenarios
    .filter(({ name }) => (scenarioNames ?? defaultScenarios).includes(name))
    .map((scenario) => {
      const wanted = apiList ?? (scenarioNames === undefined ? scenario.byDefault : scenario.apis)
      return { ...scenario, apis: scenario.apis.filter((api) => wanted.includes(api)) }
    })
    .filter(({ apis }) => apis.length > 0)
  if (chosen.length === 0)
    throw new UsageError('--apis: none of the scenarios has them; --scenario names others')
  return {
    rounds: count('rounds', given('rounds')) ?? 9,
    requests: count('requests', given('requests')),
    warmup: count('warmup', given('warmup')),
    scenarios: chosen,
    clients: names('clients', given('clients'), Object.keys(clients)) ?? Object.keys(clients),
    server: /** @type {'nghttpd' | 'node'} */ (server),
    node: given('node') ?? process.execPath,
    json: given('json'),
  }
}

/**
 * The clients that load on a Node version.
 *
 * @param {string[]} wanted
 * @param {string} nodeVersion
 */
function usable(wanted, nodeVersion) {
  const [major = 0, minor = 0] = nodeVersion.split('.').map(Number)
  return wanted.filter((name) => {
    const { label, minNode } = clientNamed(name)
    const fits = major > minNode[0] || (major === minNode[0] && minor >= minNode[1])
    if (!fits)
      console.log(
        `Left out: ${label} needs Node ${minNode.join('.')}, and the clients run on ${nodeVersion}.`,
      )
    return fits
  })
}

/**
 * The APIs of a client that a scenario measures. The reference may have one for several of the scenario's.
 *
 * @param {string} client
 * @param {Scenario} scenario
 * @returns {string[]}
 */
function apisOf(client, scenario) {
  const { apiFor, label } = clientNamed(client)
  /** @type {Set<string>} */
  const own = new Set()
  for (const api of scenario.apis) {
    const name = apiFor(api, scenario)
    if (name === null) console.log(`Left out of ${scenario.name}: ${api} of ${label}, which fails there.`)
    else own.add(name)
  }
  return [...own]
}

/**
 * One client's API within a scenario, with a measurement of every round.
 *
 * @typedef {object} Entry
 * @property {string} client
 * @property {string} api
 * @property {Measurement[]} rounds
 */

/**
 * @param {Scenario} scenario
 * @param {string[]} clientNames
 * @param {NonNullable<ReturnType<typeof readOptions>>} options
 * @returns {Promise<Entry[]>}
 */
async function measure(scenario, clientNames, options) {
  /** @type {Entry[]} */
  const entries = clientNames.flatMap((client) =>
    apisOf(client, scenario).map((api) => ({ client, api, rounds: [] })),
  )
  const worker = fileURLToPath(new URL('worker.mjs', import.meta.url))
  const server = await startServer(scenario, { kind: scenario.server ?? options.server, node: options.node })
  try {
    for (let round = 0; round < options.rounds; round++) {
      // Another client goes first in every round, so that none always follows the same one or has the cold
      // machine.
      const first = round % entries.length
      for (const entry of [...entries.slice(first), ...entries.slice(0, first)]) {
        const { client, api } = entry
        process.stderr.write(`${scenario.name}: round ${round + 1} of ${options.rounds}, ${client} ${api}\n`)
        /** @type {import('./worker.mjs').Job} */
        const job = {
          client,
          api,
          origin: server.origin,
          caFile: server.caFile,
          target: { path: server.path, method: scenario.method, authority: tunnelAuthority },
          bodyBytes: scenario.bodyBytes,
          answerBytes: scenario.answerBytes,
          inFlight: scenario.inFlight,
          connections: scenario.connections,
          maxStreams,
          warmup: options.warmup ?? scenario.warmup,
          requests: options.requests ?? scenario.requests,
        }
        try {
          // A minute on top of a very slow millisecond a request: it ends a hang, and never a measurement.
          const limit = 60_000 + job.warmup + job.requests
          entry.rounds.push(
            JSON.parse(await outputOf(start('client', options.node, [worker, JSON.stringify(job)]), limit)),
          )
        } catch (error) {
          throw new Error(
            `${scenario.name}, ${client} ${api}: ${error instanceof Error ? error.message : error}`,
          )
        }
      }
    }
  } finally {
    await server.stop()
  }
  return entries
}

/**
 * @param {string[][]} rows the first one is the head
 * @returns {string}
 */
function table(rows) {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((row) => (row[column] ?? '').length)),
  )
  return rows
    .map((row) =>
      row
        .map((cell, column) =>
          column < 2 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0),
        )
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 })
const tenths = new Intl.NumberFormat('en', { minimumFractionDigits: 1, maximumFractionDigits: 1 })

/**
 * @param {number[]} values
 * @param {Intl.NumberFormat} format
 */
function spread(values, format) {
  const [middle, low, high] = [median(values), Math.min(...values), Math.max(...values)].map((n) =>
    format.format(n),
  )
  return `${middle} (${low}–${high})`
}

/**
 * @param {Entry} entry
 * @param {Entry | undefined} base
 * @param {'requestsPerSecond' | 'cpuMicros'} key
 */
function ratio(entry, base, key) {
  if (base === undefined || base === entry) return '-'
  const { median, low, high } = pairedRatio(
    entry.rounds.map((round) => round[key]),
    base.rounds.map((round) => round[key]),
  )
  return `${median.toFixed(2)} [${low.toFixed(2)}, ${high.toFixed(2)}]`
}

/**
 * @param {Scenario} scenario
 * @param {Entry[]} entries
 */
function report(scenario, entries) {
  const figures = entries.map(({ client, api, rounds }) => [
    clientNamed(client).label,
    api,
    spread(
      rounds.map(({ requestsPerSecond }) => requestsPerSecond),
      whole,
    ),
    spread(
      rounds.map(({ cpuMicros }) => cpuMicros),
      tenths,
    ),
  ])
  const ratios = entries.map((entry) => {
    const { apiFor } = clientNamed(referenceClient)
    const reference = entries.find(
      ({ client, api }) => client === referenceClient && api === apiFor(entry.api, scenario),
    )
    const peer =
      entry.client === referenceClient
        ? undefined
        : entries.find(({ client, api }) => client === peerClient && api === entry.api)
    return [
      clientNamed(entry.client).label,
      entry.api,
      ratio(entry, reference, 'requestsPerSecond'),
      ratio(entry, reference, 'cpuMicros'),
      ratio(entry, peer, 'requestsPerSecond'),
      ratio(entry, peer, 'cpuMicros'),
    ]
  })
  const versus = clientNamed(peerClient).label
  return [
    table([['client', 'API', 'requests/s', 'CPU µs a request'], ...figures]),
    table([
      ['ratios', '', 'req/s ÷ node:http2', 'CPU ÷ node:http2', `req/s ÷ ${versus}`, `CPU ÷ ${versus}`],
      ...ratios,
    ]),
  ].join('\n\n')
}

/** @param {Scenario} scenario */
function describe({ name, method, bodyBytes, answerBytes, inFlight, connections, tls, server }) {
  const wires = connections === 1 ? 'one connection' : `${connections} connections`
  const bytes = `${whole.format(answerBytes)} bytes${bodyBytes === 0 ? '' : ' there and back'}`
  const onlyServer = server === 'node' ? ', server node:http2' : ''
  return `${name}: ${method}, ${bytes}, ${inFlight} in flight, ${wires}, ${tls ? 'TLS' : 'h2c'}${onlyServer}`
}

async function main() {
  const options = readOptions()
  if (options === null) {
    process.stdout.write(help)
    return
  }

  /** @type {string} */
  const nodeVersion = JSON.parse(
    execFileSync(options.node, ['-p', 'JSON.stringify(process.versions.node)'], { encoding: 'utf8' }),
  )
  const clientNames = usable(options.clients, nodeVersion)
  if (clientNames.length === 0) throw new UsageError('No client is left to measure.')

  const serverName = options.server === 'nghttpd' ? nghttpdVersion : `node:http2 of Node ${nodeVersion}`
  const machine = {
    cpu: cpus()[0]?.model ?? 'unknown',
    cores: availableParallelism(),
    memory: totalmem(),
    platform: `${platform()} ${release()} ${arch()}`,
    node: nodeVersion,
    server: serverName,
    pinned: cores,
  }
  const loadBefore = loadavg()[0] ?? 0
  console.log(
    `${machine.cpu}, ${machine.cores} cores, ${machine.platform}; load before ${loadBefore.toFixed(2)}`,
  )
  console.log(
    `Clients on Node ${nodeVersion}, server ${serverName}; ${
      cores === null
        ? 'not pinned to cores'
        : `client on core ${cores.client}, server on core ${cores.server}`
    }; ${options.rounds} rounds, median (min–max), ratios with a 95 % interval\n`,
  )

  const results = []
  for (const scenario of options.scenarios) {
    const entries = await measure(scenario, clientNames, options)
    console.log(`${describe(scenario)}\n\n${report(scenario, entries)}\n`)
    results.push({
      ...scenario,
      requests: options.requests ?? scenario.requests,
      warmup: options.warmup ?? scenario.warmup,
      entries,
    })
  }

  if (options.json !== undefined) {
    const raw = { date: new Date().toISOString(), machine: { ...machine, loadBefore }, scenarios: results }
    writeFileSync(options.json, `${JSON.stringify(raw, null, 2)}\n`)
  }
}

try {
  await main()
} catch (error) {
  console.error(error instanceof UsageError ? `${error.message} (see --help)` : error)
  // By exit(), because children may still be open; leaving this way ends them.
  process.exit(error instanceof UsageError ? 2 : 1)
}
