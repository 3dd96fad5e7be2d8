/** The times of `dodici URL` are those of the wire. What this machine's load changes isn't judged: order, and code that runs. */

import { execFile } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { PROGRAM_ENV } from '../../../scripts/program-env.mjs'
import { CliError, EXIT } from '../../../src/cli/cli-error.ts'
import { toPlan } from '../../../src/cli/inspect/plan.ts'
import { rehearse } from '../../../src/cli/inspect/rehearsal.ts'
import { Terminal } from '../../../src/cli/terminal.ts'
import { createFaultServer } from '../../../src/testing/index.ts'
import type { Serve } from '../../support/clients/cli.ts'
import { CLI, makeFolder, removeFolder, startServe } from '../../support/clients/cli.ts'
import { runHere } from '../../support/clients/cli-here.ts'
import { lacks } from '../../support/servers/programs.ts'

let folder = ''
let serve: Serve
/** Writes what has run for the first time between the connection and the first byte. */
let preload = ''

beforeAll(async () => {
  folder = await makeFolder()
  serve = await startServe(folder)
  preload = join(folder, 'preload.cjs')
  await writeFile(
    preload,
    `const { Session } = require('inspector')
const { writeFileSync } = require('fs')
const { Socket } = require('net')
const session = new Session()
session.connect()
session.post('Profiler.enable')
session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
// The names of all functions that have run since the last call.
const take = () => {
  let names
  session.post('Profiler.takePreciseCoverage', (error, { result }) => {
    if (error) throw error
    names = result.flatMap(({ url, functions }) =>
      functions.flatMap(({ functionName, ranges: [{ count, startOffset }] }) =>
        count > 0 && /\\/dist\\//.test(url) ? [url.replace(/.*\\/dist\\//, '') + ':' + startOffset + ' ' + functionName] : []))
  })
  return names
}
const { connect } = Socket.prototype
let before = null
Socket.prototype.connect = function (...args) {
  if (before === null) {
    before = { code: new Set(take()), modules: new Set(process.moduleLoadList) }
    const { push } = this
    this.push = function (...chunk) {
      this.push = push
      const code = take().filter((name) => !before.code.has(name))
      const modules = process.moduleLoadList.filter((name) => !before.modules.has(name))
      const more = push.apply(this, chunk)
      writeFileSync(process.env.FIRST, JSON.stringify({ known: before.code.size, code, modules }))
      return more
    }
  }
  return connect.apply(this, args)
}
`,
  )
})

afterAll(async () => {
  await serve.running.kill()
  await removeFolder(folder)
})

interface First {
  /** Functions that had run before. */
  readonly known: number
  readonly code: readonly string[]
  readonly modules: readonly string[]
}

async function toFirst(args: readonly string[]): Promise<First> {
  const file = join(folder, 'first')
  const env = { ...process.env, NODE_OPTIONS: '', FIRST: file }
  await promisify(execFile)(process.execPath, ['-r', preload, CLI, ...args], { env })
  return JSON.parse(await readFile(file, 'utf8'))
}

describe('between the connection and the first bytes of the server', () => {
  it.each([
    ['h2c', []],
    ['h2c, with the frames', ['-v']],
    ['h2c, engine node', ['--engine', 'node']],
    ['h2c, without a report', ['-s', '-o', '/dev/null', '-w', '%{http_code}']],
    ['TLS', []],
  ])('%s: hardly any code runs for the first time', async (name, flags) => {
    const url = name.startsWith('TLS') ? ['--ca', serve.caPath, serve.secure] : [serve.plain]
    const { code, known, modules } = await toFirst([...flags, ...url.slice(0, -1), `${url.at(-1)}/headers`])
    expect(known).toBeGreaterThan(500)
    expect(modules).toEqual([])
    // The few functions that open a TCP connection: 250 without the rehearsal.
    expect(code.length, code.join('\n')).toBeLessThan(10)
  })
})

describe('the rehearsal', () => {
  it.each([
    [[]],
    [['--engine', 'node']],
    [['-X', 'PUT', '-d', 'a', '-H', 'content-length: 1']],
  ])('%j: the server sees one connection, and one request', async (flags) => {
    const server = await createFaultServer({ h2c: true })
    onTestFinished(() => server.close())
    const { code, stdout, stderr } = await runHere([...flags, '-i', `${server.origin}/a`])
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^HTTP\/2 200 \r\n\r\n(GET|PUT) \/a$/)])
    expect(server.ledger).toEqual([expect.stringMatching(/^0\/1 (GET|PUT) \/a$/)])
    // Nothing of it is shown.
    expect(stderr.match(/^Response 200$/gm)).toHaveLength(1)
    expect(stderr).not.toContain('cache-control')
  })

  it('ends with the call: its signal is aborted', async () => {
    const plan = await toPlan(['http://localhost:1/'], new Terminal(process))
    const reason = new CliError('interrupted', EXIT.interrupted)
    if (plan === null) throw new Error('--help was not asked for')
    await expect(rehearse(plan, AbortSignal.abort(reason))).rejects.toBe(reason)
  })
})

describe.skipIf(lacks('curl'))('beside curl', () => {
  const names = ['namelookup', 'connect', 'appconnect', 'pretransfer', 'starttransfer', 'total']
  const format = names.map((name) => `%{time_${name}}`).join(' ')

  it('has the same stamps, in the same order', async () => {
    const url = `${serve.secure}/headers`
    const args = ['-s', '--cacert', serve.caPath, '-o', '/dev/null', '-w', format, url]
    const curl = await promisify(execFile)('curl', args, { env: PROGRAM_ENV })
    const own = await promisify(execFile)(process.execPath, [CLI, ...args])
    for (const { stdout } of [curl, own]) {
      const times = stdout.split(' ').map(Number)
      expect(times).toHaveLength(names.length)
      expect(times).toEqual([...times].sort((a, b) => a - b))
      expect(Math.min(...times)).toBeGreaterThan(0)
    }
  })
})
