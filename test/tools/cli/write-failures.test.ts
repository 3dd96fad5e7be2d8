/** Output that can't be written is a failure, and a reader of a pipe that leaves is none. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Serve } from '../../support/clients/cli.ts'
import { makeFolder, removeFolder, startServe } from '../../support/clients/cli.ts'
import { program, runShell } from '../../support/clients/pseudo-terminal.ts'
import { lacks } from '../../support/servers/programs.ts'

let folder: string
let serve: Serve

beforeAll(async () => {
  folder = await makeFolder()
  serve = await startServe(folder, '--no-tls')
})

afterAll(async () => {
  await serve.running.kill()
  await removeFolder(folder)
})

/** A device that is always full. */
const FULL = '/dev/full'

describe.skipIf(process.platform !== 'linux')('a full disk', () => {
  it.each([
    ['the body', `PLAIN/bytes/10`],
    ['--json', `--json PLAIN/headers`],
    ['-i', `-i PLAIN/headers`],
    ['--write-out', `-o /dev/null -w ok PLAIN/headers`],
    ['load', `load -n 10 PLAIN/headers`],
    ['--help', `--help`],
  ])('as the standard output, %s: exit code 11, and a message', async (_what, args) => {
    const line = `${program} ${args.replace('PLAIN', serve.plain)} > ${FULL}`
    const { code, output } = await runShell(line)
    expect([code, output]).toEqual([
      11,
      expect.stringMatching(/: can't write to the standard output: ENOSPC/),
    ])
  })

  it('as the standard error: exit code 11', async () => {
    const { code, output } = await runShell(`${program} ${serve.plain}/headers 2> ${FULL}`)
    expect([code, output]).toEqual([11, expect.stringContaining('"path":')])
  })

  it('as the file of -o: exit code 11', async () => {
    const { code, output } = await runShell(`${program} -o ${FULL} ${serve.plain}/bytes/10`)
    expect([code, output]).toEqual([11, expect.stringContaining("--output can't write '/dev/full'")])
  })

  it('a failure keeps its own exit code', async () => {
    const { code } = await runShell(`${program} -f ${serve.plain}/status/404 > ${FULL}`)
    expect(code).toBe(8)
  })

  it.skipIf(lacks('curl'))('curl takes it for a failure, too', async () => {
    const line = `curl -s --http2-prior-knowledge ${serve.plain}/bytes/10 > ${FULL}`
    expect((await runShell(line)).code).toBe(23)
  })
})

describe('a reader that leaves', () => {
  it.each([
    'PLAIN/bytes/10000000',
    '--json PLAIN/headers',
    'load -n 10 PLAIN/headers',
  ])('%s: is no error', async (args) => {
    const line = `{ ${program} ${args.replace('PLAIN', serve.plain)}; echo code $? >&2; } | true`
    expect((await runShell(line)).output).toMatch(/(^|\n)code 0\n$/)
  })
})
