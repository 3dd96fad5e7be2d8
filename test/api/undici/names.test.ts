/** The table of names: it is that of each version of undici, and the entry holds to it. */

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { Major } from '../../../src/undici/names.ts'
import { NAMES } from '../../../src/undici/names.ts'
import { LOADABLE, makeProject, run, UNDICIS } from './rig.ts'

const require = createRequire(import.meta.url)

const owned = (owner: string) => [...NAMES].filter(([, name]) => name.owner === owner).map(([name]) => name)

describe.each(LOADABLE)('%s', (version) => {
  const major = Number(version.at(-1)) as Major

  it('has each name of the table, and no other', () => {
    const theirs: object = require(UNDICIS[version])
    const ours = [...NAMES].filter(([, { since }]) => since.includes(major)).map(([name]) => name)
    expect(ours.sort()).toEqual(Object.keys(theirs).sort())
  })

  it('gives dodici/undici the names that are its own, and Dodici and Node theirs', async () => {
    const source = `
      import dodiciUndici, * as entry from 'dodici/undici'
      import * as dodici from 'dodici'
      import undici from 'undici'
      const same = (theirs) => Object.keys(entry).filter((name) => name in theirs && entry[name] === theirs[name])
      const all = Object.keys(dodiciUndici).every((name) => dodiciUndici[name] === entry[name])
      const list = { all, names: Object.keys(entry), undici: same(undici), dodici: same(dodici), node: same(globalThis) }
      console.log(JSON.stringify(list))`
    const list = JSON.parse((await run(makeProject(version), source)).stdout)
    const has = (name: string) => NAMES.get(name)?.since.includes(major)
    expect(list.names.filter((name: string) => name !== 'default').sort()).toEqual([...NAMES.keys()].sort())
    expect(list.all).toBe(true)
    const theirs = owned('undici')
    expect(list.undici.filter((name: string) => theirs.includes(name)).sort()).toEqual(
      theirs.filter(has).sort(),
    )
    expect(list.dodici.sort()).toEqual(owned('dodici').sort())
    expect(list.node).toEqual(expect.arrayContaining(owned('node')))
  })

  it('lacks names, which say what has them', async () => {
    const lacking = owned('undici').filter((name) => !NAMES.get(name)?.since.includes(major))
    expect(lacking).not.toEqual([])
    const source = `
      const entry = require('dodici/undici')
      for (const name of ${JSON.stringify(lacking)}) try { new entry[name]() } catch (error) { console.log(error.message) }`
    const { stdout } = await run(makeProject(version), source)
    for (const [i, line] of stdout.trimEnd().split('\n').entries()) {
      const { since = [] } = NAMES.get(lacking[i] ?? '') ?? {}
      expect(line).toMatch(`has no ${lacking[i]}: it needs undici ${since.join(' or ')}`)
    }
  })
})

const USES = `
  const entry = require('dodici/undici')
  const uses = [(Name) => Name(), (Name) => new Name(), (Name) => class extends Name {}, (Name) => Name.property]
  for (const name of ${JSON.stringify(owned('undici'))}) {
    for (const use of uses) {
      try {
        use(entry[name])
        console.log('no error', name)
      } catch (error) {
        console.log(error.code, error.cause?.message.split('\\n')[0], error.message)
      }
    }
  }
  try { new entry.MockAgent() } catch (error) { console.log(error.code, error.cause?.message.split('\\n')[0], error.message) }
  entry.setGlobalDispatcher(new entry.Agent())
  console.log(Object.keys(entry).length)`

describe('without undici', () => {
  it('each name of its says what to install, when it is used', async () => {
    const lines = (await run(makeProject(null), USES)).stdout.trimEnd().split('\n')
    expect(lines).toHaveLength(owned('undici').length * 4 + 2)
    for (const line of lines.slice(0, -1)) {
      expect(line).toMatch(/^UND_ERR_NOT_SUPPORTED Cannot find module 'undici/)
      expect(line).toMatch(/undici, which isn't installed: install undici [678 or]+ next to dodici/)
    }
    expect(Number(lines.at(-1))).toBeGreaterThan(NAMES.size)
  })

  it('what is ours works', async () => {
    const source = `
      import { Client, errors, fetch, install, request, Response, setGlobalOrigin } from 'dodici/undici'
      const error = await request('https://localhost:65534').catch((reason) => reason)
      console.log(error.code, error instanceof errors.UndiciError)
      install()
      setGlobalOrigin('https://localhost:65534/')
      console.log((await fetch('/relative').catch((reason) => reason)).cause.code, globalThis.fetch === fetch)`
    expect((await run(makeProject(null), source)).stdout).toBe('ECONNREFUSED true\nECONNREFUSED true\n')
  })
})

it('what stands for a missing name can be looked at', async () => {
  const source = `
    const { interceptors, WebSocket } = require('dodici/undici')
    console.log({} instanceof WebSocket, JSON.stringify({ WebSocket }), await Promise.resolve(interceptors) === interceptors)
    for (const look of [() => 'retry' in interceptors, () => Object.keys(interceptors)]) {
      try { look() } catch ({ message }) { console.log(message.includes('install')) }
    }`
  const { stdout } = await run(makeProject(null), `(async () => {${source}})()`)
  expect(stdout).toBe('false {} true\ntrue\ntrue\n')
})

describe('with an undici that does not load', () => {
  it('each name of its has the cause', async () => {
    const folder = makeProject(null)
    const broken = join(folder, 'node_modules/undici')
    mkdirSync(broken)
    writeFileSync(join(broken, 'package.json'), '{ "name": "undici", "version": "8.99.0" }')
    writeFileSync(join(broken, 'index.js'), "throw new Error('needs a newer Node')")
    const lines = (await run(folder, USES)).stdout.trimEnd().split('\n')
    expect(lines).toHaveLength(owned('undici').length * 4 + 2)
    for (const line of lines.slice(0, -1)) {
      expect(line).toMatch(/^UND_ERR_NOT_SUPPORTED needs a newer Node /)
      expect(line).toContain(`Node ${process.version} can't load undici 8.99.0: see the cause`)
    }
  })
})

it('the built classes have their names', async () => {
  const source = `
    const { Agent, Client, Dispatcher, Pool } = require('dodici')
    const composed = new Agent().compose([])
    console.log([Agent, Client, Dispatcher, Pool, composed.constructor].map(({ name }) => name).join())`
  const { stdout } = await run(makeProject(null), source)
  expect(stdout).toBe('Agent,Client,Dispatcher,Pool,Agent\n')
})

it('the table of docs/migrating.md names each', () => {
  const docs = readFileSync(new URL('../../../docs/migrating.md', import.meta.url), 'utf8')
  const [, section = ''] = /^## From undici$(.*?)^## /ms.exec(docs) ?? []
  const rows = section.split('\n').filter((line) => line.startsWith('| '))
  expect([...NAMES.keys()].filter((name) => !rows.some((row) => row.includes(`\`${name}\``)))).toEqual([])
})
