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
import { ClientProcess, HANGS, LIMIT, MEMORY, play } from './faults/play.mjs'

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
const SERIOUS = ['hangs', 'crashes', 'sends twice', 'memory']

const help = `Usage: npm run faults -- [options]

Plays what the fault server of dodici/testing can do to each client, and writes docs/faults.json and docs/faults.md. Needs
Node 24 or later, and Go for Go's client. Takes about ten minutes.

  --clients NAMES  some of them, by commas: ${Object.keys(CLIENTS).join(', ')}
  --only TEXT      the behaviours whose names contain it
  --page           makes the page anew of what was recorded, and plays nothing

With --clients or --only, it prints what it has seen, and writes nothing. It exits with 1 if Dodici hangs, crashes, sends a
request twice, or takes more memory than it may.
`

/** @param {string} name of a client */
function toVersion(name) {
  const folder = CLIENTS[name]
  if (typeof folder === 'string') {
    return JSON.parse(readFileSync(join(root, 'node_modules', folder, 'package.json'), 'utf8')).version
  }
  if (name === "Go's net/http") return execFileSync('go', ['env', 'GOVERSION'], { encoding: 'utf8' }).trim()
  return name.startsWith('dodici') ? 'this checkout' : `Node ${process.versions.node}`
}

/**
 * @param {string} name of a client
 * @param {readonly import('./faults/behaviours.mjs').Behaviour[]} behaviours
 * @param {{ key: string, cert: string }} tls
 * @returns {Promise<Outcome[]>} one for each behaviour
 */
async function playAll(name, behaviours, tls) {
  const client = new ClientProcess(name)
  /** @type {Outcome[]} */
  const outcomes = []
  try {
    for (const behaviour of behaviours) {
      const outcome = await play(behaviour, client, tls)
      outcomes.push(outcome)
      const { verdict, detail } = outcome
      if (verdict !== 'right') console.log(`${name} | ${behaviour.name} | ${verdict} | ${detail}`)
    }
  } finally {
    client.stop()
  }
  const right = outcomes.filter(({ verdict }) => verdict === 'right')
  console.log(`${name}: ${right.length} of ${outcomes.length} right`)
  return outcomes
}

/** @param {string[]} names @param {string} only */
async function playTable(names, only) {
  const behaviours = BEHAVIOURS.filter(({ name }) => name.includes(only))
  const { private: key, cert } = await generate([{ name: 'commonName', value: 'localhost' }], {
    extensions: [{ name: 'subjectAltName', altNames: [{ type: 2, value: 'localhost' }] }],
  })
  /** @type {Row[]} */
  const rows = behaviours.map(({ group, name, wants }) => ({ group, name, wants, outcomes: {} }))
  for (const name of names) {
    const outcomes = await playAll(name, behaviours, { key, cert })
    for (const [index, outcome] of outcomes.entries()) {
      const row = rows[index]
      if (row !== undefined) row.outcomes[name] = outcome
      if (name.startsWith('dodici') && SERIOUS.includes(outcome.verdict)) process.exitCode = 1
    }
  }
  return rows
}

async function main() {
  const text = /** @type {const} */ ({ type: 'string' })
  const flag = /** @type {const} */ ({ type: 'boolean' })
  const { values } = parseArgs({ options: { clients: text, only: text, page: flag, help: flag } })
  if (values.help === true) {
    console.log(help)
    return
  }
  if (values.page === true) {
    writeFileSync(PAGE, toPage(JSON.parse(readFileSync(RECORD, 'utf8'))))
    return
  }
  const names = values.clients?.split(',') ?? Object.keys(CLIENTS)
  const rows = await playTable(names, values.only ?? '')
  if (values.clients !== undefined || values.only !== undefined) return
  const record = {
    node: process.versions.node,
    limits: { limit: LIMIT, hangs: HANGS, memory: MEMORY },
    clients: names.map((name) => ({ name, version: toVersion(name) })),
    rows,
  }
  writeFileSync(RECORD, toFile(record))
  writeFileSync(PAGE, toPage(record))
}

await main()
