/** Every behaviour of the fault server × every client: `npm run faults -- --help`. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { makeCertificate } from './certificate.mjs'
import { BEHAVIOURS } from './faults/behaviours.mjs'
import { toFile, toPage } from './faults/page.mjs'
import { ClientProcess, HANGS, LIMIT, MEMORY, PAUSE, play, toWorst } from './faults/play.mjs'
import { readOptions, runMain } from './options.mjs'
import { say } from './processes.mjs'

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
const toPackageVersion = (folder) =>
  JSON.parse(readFileSync(join(root, 'node_modules', folder, 'package.json'), 'utf8')).version

/** @param {string} name of a client */
function toVersion(name) {
  const folder = CLIENTS[name]
  if (typeof folder === 'string') return toPackageVersion(folder)
  if (name === "Go's net/http") return say('go', 'env', 'GOVERSION')
  if (name.startsWith('dodici')) return say('git', '-C', root, 'rev-parse', '--short=7', 'HEAD')
  // The undici of the Agent that fetch is given.
  const inside = name === 'built-in fetch' ? `, undici ${toPackageVersion('undici')}` : ''
  return `Node ${process.versions.node}${inside}`
}

/**
 * Each behaviour in turn, and then all of them again.
 *
 * @param {string} name of a client @param {readonly import('./faults/behaviours.mjs').Behaviour[]} behaviours
 * @param {number} rounds @param {{ key: string, cert: string }} tls
 * @returns {Promise<Outcome[]>} the worst one of each behaviour
 */
async function playAll(name, behaviours, rounds, tls) {
  const client = new ClientProcess(name)
  /** @type {Outcome[][]} */
  const plays = behaviours.map(() => [])
  try {
    for (let round = 0; round < rounds; round++)
      for (const [index, behaviour] of behaviours.entries())
        plays[index].push(await play(behaviour, client, tls))
  } finally {
    client.stop()
  }
  const outcomes = plays.map(toWorst)
  for (const [index, { verdict, detail, isUnsteady = false }] of outcomes.entries()) {
    const what = `${name} | ${behaviours[index].name} | ${verdict}${isUnsteady ? ', at times' : ''} | ${detail}`
    if (verdict !== 'right') console.log(what)
  }
  const right = outcomes.filter(({ verdict }) => verdict === 'right')
  console.log(`${name}: ${right.length} of ${outcomes.length} right`)
  return outcomes
}

/** @param {readonly string[]} names @param {string} only @param {number} rounds */
async function playTable(names, only, rounds) {
  const behaviours = BEHAVIOURS.filter(({ name }) => name.includes(only))
  const certificate = await makeCertificate()
  /** @type {Row[]} */
  const rows = behaviours.map(({ group, name, wants }) => ({ group, name, wants, outcomes: {} }))
  const waiting = [...names]
  const lane = async () => {
    for (let name = waiting.shift(); name !== undefined; name = waiting.shift()) {
      const isOurs = name.startsWith('dodici')
      for (const [index, outcome] of (await playAll(name, behaviours, rounds, certificate)).entries()) {
        // How a request fails that should is told of Dodici alone.
        const isKept = isOurs || outcome.verdict !== 'right'
        rows[index].outcomes[name] = isKept ? outcome : { ...outcome, detail: '' }
        if (isOurs && SERIOUS.includes(outcome.verdict)) process.exitCode = 1
      }
    }
  }
  await Promise.all(Array.from({ length: AT_A_TIME }, lane))
  return rows.map(({ outcomes, ...row }) => ({
    ...row,
    outcomes: Object.fromEntries(names.map((name) => [name, outcomes[name]])),
  }))
}

await runMain(async () => {
  const options = readOptions(help)
  if (options.flag('page')) {
    writeFileSync(PAGE, toPage(JSON.parse(readFileSync(RECORD, 'utf8'))))
    return
  }
  const names = options.names('clients', Object.keys(CLIENTS)) ?? Object.keys(CLIENTS)
  const rounds = options.count('rounds', 2)
  const rows = await playTable(names, options.text('only') ?? '', rounds)
  if (['clients', 'only', 'rounds'].some((name) => options.text(name) !== undefined)) return
  const record = {
    node: process.versions.node,
    rounds,
    limits: { limit: LIMIT, pause: PAUSE, hangs: HANGS, memory: MEMORY },
    clients: names.map((name) => ({ name, version: toVersion(name) })),
    rows,
  }
  writeFileSync(RECORD, toFile(record))
  writeFileSync(PAGE, toPage(record))
})
