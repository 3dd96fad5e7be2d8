import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { CliProcess, makeFolder, removeFolder, runCli, startServe } from '../../support/clients/cli.ts'
import { startFaults } from '../../support/peers/fault-rig.ts'

let folder = ''

beforeAll(async () => {
  folder = await makeFolder()
})

afterAll(() => removeFolder(folder))

function start(args: readonly string[], env: Readonly<Record<string, string>> = {}): CliProcess {
  const running = new CliProcess(['load', ...args], env)
  onTestFinished(() => running.kill())
  return running
}

/** A module that each thread of a process loads first. @returns the environment that says so */
async function preload(name: string, script: string): Promise<Record<string, string>> {
  const path = join(folder, `${name}.cjs`)
  await writeFile(path, script)
  return { NODE_OPTIONS: `--require=${path}` }
}

describe('the program dodici load', () => {
  it('measures dodici serve, over h2c and over TLS', async () => {
    const { running, plain, secure, caPath } = await startServe(folder)
    onTestFinished(() => running.kill())
    const inClear = await runCli(['load', '-n', '300', '-c', '2', `${plain}/bytes/1000`])
    expect(inClear).toMatchObject({ code: 0, signal: null, stderr: '' })
    expect(inClear.stdout).toMatch(/^ {2}Responses {6}300 {3}200: 300$/m)
    expect(inClear.stdout).toMatch(/^ {2}Bodies {9}300\.0 kB, /m)
    const overTls = await runCli(['load', '-n', '300', '--ca', caPath, `${secure}/status/404`])
    expect(overTls).toMatchObject({ code: 0, signal: null, stderr: '' })
    expect(overTls.stdout).toMatch(/^ {2}Responses {6}300 {3}404: 300$/m)
  })

  it('at Ctrl-C reports what it has', async () => {
    const server = await startFaults()
    server.onRequest('*', (stream) => (stream.index < 50 ? stream.respond() : undefined))
    const running = start(['--json', '-m', '3', server.origin])
    // One has opened the session, and three are left without a response.
    await server.waitFor(() => server.requests.length === 53)
    running.child.kill('SIGINT')
    const { code, stdout, stderr } = await running.exit()
    expect({ code, stderr }).toEqual({ code: 130, stderr: '' })
    expect(JSON.parse(stdout)).toMatchObject({ interrupted: true, responses: 49, failures: 0, unfinished: 3 })
  })
})

describe('several workers', () => {
  it('divide sessions, requests and rate', async () => {
    const server = await startFaults()
    const args = ['-t', '2', '-c', '3', '-n', '1001', '-m', '10', '--rate', '20000']
    const { code, stdout, stderr } = await start(['--json', ...args, server.origin]).exit()
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(JSON.parse(stdout)).toMatchObject({ workers: 2, sessions: 3, responses: 1_001, lostWorkers: [] })
    expect(server.connections).toHaveLength(3)
    expect(server.requests).toHaveLength(1_004)
  })

  it('of which one has no request end all the same', async () => {
    const { origin } = await startFaults()
    const { code, stdout } = await start(['--json', '-t', '2', '-c', '2', '-n', '1', origin]).exit()
    expect({ code, responses: JSON.parse(stdout).responses }).toEqual({ code: 0, responses: 1 })
  })

  it('of which one is lost during the load end with what the others have', async () => {
    const server = await startFaults()
    const env = await preload(
      'lost',
      `const { threadId, parentPort } = require('node:worker_threads')
       if (threadId === 2) parentPort.once('message', () => process.exit(3))`,
    )
    const { code, stdout } = await start(
      ['--json', '-t', '2', '-c', '2', '-n', '100', server.origin],
      env,
    ).exit()
    expect(code).toBe(9)
    expect(JSON.parse(stdout)).toMatchObject({
      responses: 50,
      failures: 0,
      lostWorkers: ['it ended early, with exit code 3'],
    })
  })

  it('of which one is lost before the load send nothing', async () => {
    const server = await startFaults()
    const env = await preload(
      'never',
      "if (require('node:worker_threads').threadId === 2) setImmediate(() => { throw new Error('no memory') })",
    )
    const { code, stdout, stderr } = await start(['-t', '2', '-c', '2', server.origin], env).exit()
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toContain('dodici load: no memory')
    expect(server.requests.length).toBeLessThanOrEqual(2)
  })

  it('that cannot connect end the command with one error', async () => {
    const server = await startFaults()
    const { origin } = server
    await server.close()
    const { code, stdout, stderr } = await start(['-t', '2', '-c', '4', origin]).exit()
    expect({ code, stdout }).toEqual({ code: 4, stdout: '' })
    expect(stderr).toMatch(/^dodici load: Could not connect.*ECONNREFUSED.*\n$/)
  })
})
