/**
 * Every behaviour of the fault server × every client: `npm run faults -- --help`.
 */
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { generate } from 'selfsigned'
import { BEHAVIOURS } from './faults/behaviours.mjs'
import { toFile, toPage } from './faults/page.mjs'
import { ClientProcess, HANGS, LIMIT, MEMORY, PAUSE, play } from './faults/play.mjs'
import { toWorst } from './faults/verdicts.mjs'
import { PROGRAM_ENV } from './program-env.mjs'

/**
 * @typedef {import('./faults/page.mjs').Row} Row
 * @typedef {import('./faults/play.mjs').Outcome} Outcome
 */

const root = join(import.meta.dirname, '..')
const RECORD = join(root, 'docs/faults.json')
const PAGE = join(root, 'docs/faults.md')

/** Each client, and the folder of its package in node_modules, where it is one. @type {Readonly<Record<string, string | null>>} */
const CLIENTS = {
  'dodici (wire)': null,
  'dodici (node)': null,
  undici: 'undici-8',
  'node:http2': null,
  got: 'got',
  axios: 'axios',
  'connect-node': '@connectrpc/connect-node',
  'built-in fetch': null,
  "Go's net/http": null,
}

/** What Dodici may never do, on either engine. */
const SERIOUS = ['hangs', 'crashes at once', 'crashes', 'sends twice', 'memory']

/** How often each behaviour is played to each client. */
const ROUNDS = 2

/** How many clients are tried at the same time. */
const AT_A_TIME = 2

const help = `Usage: npm run faults -- [options]

Plays what the fault server of dodici/testing can do to each client, and writes docs/faults.json and docs/faults.md. Needs
Node 24 or later, and Go for Go's client. Takes about twenty minutes, and a machine that has nothing else to do.

  --clients NAMES  some of them, by commas: ${Object.keys(CLIENTS).join(', ')}
  --only TEXT      the behaviours whose names contain it
  --rounds N       how often each is played (default: 2); the worst outcome counts
  --page           makes the page anew of what was recorded, and plays nothing

With --clients, --only or --rounds, it prints what it has seen, and writes nothing. It exits with 1 if Dodici hangs, crashes, sends a
request twice, or takes more memory than it may.
`

/** @param {string} folder in node_modules @returns {string} */
function toPackageVersion(folder) {
  return JSON.parse(readFileSync(join(root, 'node_modules', folder, 'package.json'), 'utf8')).version
}

/** @param {string} name of a client */
function toVersion(name) {
  const folder = CLIENTS[name]
  if (typeof folder === 'string') return toPackageVersion(folder)
  if (name === "Go's net/http") return toOutput('go', 'env', 'GOVERSION')
  if (name.startsWith('dodici')) return toOutput('git', 'rev-parse', '--short=7', 'HEAD')
  // The undici of the Agent that fetch is given.
  const inside = name === 'built-in fetch' ? `, undici ${toPackageVersion('undici')}` : ''
  return `Node ${process.versions.node}${inside}`
}

/** @param {string} program @param {string[]} args */
function toOutput(program, ...args) {
  return execFileSync(program, args, { encoding: 'utf8', cwd: root, env: PROGRAM_ENV }).trim()
}

/**
 * Each behaviour in turn, and then all of them again.
 *
 * @param {string} name of a client
 * @param {readonly import('./faults/behaviours.mjs').Behaviour[]} behaviours
 * @param {number} rounds
 * @param {{ key: string, cert: string }} tls
 * @returns {Promise<Outcome[]>} the worst one of each behaviour
 */
async function playAll(name, behaviours, rounds, tls) {
  const client = new ClientProcess(name)
  /** @type {Outcome[][]} */
  const plays = behaviours.map(() => [])
  try {
    for (let round = 0; round < rounds; round++) {
      for (const [index, behaviour] of behaviours.entries()) {
        plays[index]?.push(await play(behaviour, client, tls))
      }
    }
  } finally {
    client.stop()
  }
  const outcomes = plays.map(toWorst)
  for (const [index, { verdict, detail, isUnsteady = false }] of outcomes.entries()) {
    const what = `${name} | ${behaviours[index]?.name} | ${verdict}${isUnsteady ? ', at times' : ''} | ${detail}`
    if (verdict !== 'right') console.log(what)
  }
  const right = outcomes.filter(({ verdict }) => verdict === 'right')
  console.log(`${name}: ${right.length} of ${outcomes.length} right`)
  return outcomes
}

/** @param {string[]} names @param {string} only @param {number} rounds */
async function playTable(names, only, rounds) {
  const behaviours = BEHAVIOURS.filter(({ name }) => name.includes(only))
  const { private: key, cert } = await generate([{ name: 'commonName', value: 'localhost' }], {
    extensions: [{ name: 'subjectAltName', altNames: [{ type: 2, value: 'localhost' }] }],
  })
  /** @type {Row[]} */
  const rows = behaviours.map(({ group, name, wants }) => ({ group, name, wants, outcomes: {} }))
  const waiting = [...names]
  const lane = async () => {
    for (let name = waiting.shift(); name !== undefined; name = waiting.shift()) {
      const outcomes = await playAll(name, behaviours, rounds, { key, cert })
      const isOurs = name.startsWith('dodici')
      for (const [index, outcome] of outcomes.entries()) {
        const row = rows[index]
        // How a request fails that should is told of Dodici alone.
        const isKept = isOurs || outcome.verdict !== 'right'
        if (row !== undefined) row.outcomes[name] = isKept ? outcome : { ...outcome, detail: '' }
        if (isOurs && SERIOUS.includes(outcome.verdict)) process.exitCode = 1
      }
    }
  }
  await Promise.all(Array.from({ length: AT_A_TIME }, lane))
  return rows.map(({ outcomes, ...row }) => ({
    ...row,
    outcomes: Object.fromEntries(names.flatMap((name) => (outcomes[name] ? [[name, outcomes[name]]] : []))),
  }))
}

async function main() {
  const text = /** @type {const} */ ({ type: 'string' })
  const flag = /** @type {const} */ ({ type: 'boolean' })
  const { values } = parseArgs({
    options: { clients: text, only: text, rounds: text, page: flag, help: flag },
  })
  if (values.help === true) {
    console.log(help)
    return
  }
  if (values.page === true) {
    writeFileSync(PAGE, toPage(JSON.parse(readFileSync(RECORD, 'utf8'))))
    return
  }
  const names = values.clients?.split(',') ?? Object.keys(CLIENTS)
  const unknown = names.find((name) => !Object.hasOwn(CLIENTS, name))
  if (unknown !== undefined) throw new Error(`There is no client ${unknown}\n\n${help}`)
  const rounds = Number(values.rounds ?? ROUNDS)
  if (!Number.isSafeInteger(rounds) || rounds < 1) {
    throw new Error(`--rounds takes a whole number from 1, not ${values.rounds}\n\n${help}`)
  }
  const rows = await playTable(names, values.only ?? '', rounds)
  if (values.clients !== undefined || values.only !== undefined || values.rounds !== undefined) return
  const record = {
    node: process.versions.node,
    rounds,
    limits: { limit: LIMIT, pause: PAUSE, hangs: HANGS, memory: MEMORY },
    clients: names.map((name) => ({ name, version: toVersion(name) })),
    rows,
  }
  writeFileSync(RECORD, toFile(record))
  writeFileSync(PAGE, toPage(record))
}

await main()
