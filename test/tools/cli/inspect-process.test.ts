import { once } from 'node:events'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import type { Serve } from '../../support/clients/cli.ts'
import { CliProcess, makeFolder, removeFolder, runCli, startServe } from '../../support/clients/cli.ts'
import { program, runInTerminal, runShell } from '../../support/clients/pseudo-terminal.ts'
import { lacks } from '../../support/servers/programs.ts'

let folder: string
let serve: Serve

beforeAll(async () => {
  folder = await makeFolder()
  serve = await startServe(folder)
})

afterAll(async () => {
  await serve.running.kill()
  await removeFolder(folder)
})

describe('dodici URL, as a process', () => {
  it('shows a response of dodici serve, and ends by itself', async () => {
    const { code, stderr, stdout } = await runCli(['--ca', serve.caPath, `${serve.secure}/headers`])
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({ method: 'GET', path: '/headers' })
    expect(stderr).toContain('  Names        localhost, 127.0.0.1, ::1\n')
    expect(stderr).toContain('  Trusted      yes\n')
    expect(stderr).not.toContain('\u001b')
  })

  it('ends with the exit code of its failure', async () => {
    expect((await runCli([`${serve.secure}/`])).code).toBe(5)
    expect((await runCli(['--timeout', '200ms', `${serve.plain}/delay/60000`])).code).toBe(7)
  })

  it('Ctrl-C ends it at once: 130', async () => {
    const running = new CliProcess([`${serve.plain}/sse?count=0&interval=10`], {})
    onTestFinished(() => running.kill())
    await running.says('data:')
    running.child.kill('SIGINT')
    const { code, stderr } = await running.exit()
    expect(code).toBe(130)
    expect(stderr).toMatch(/\nTimes\n(.*\n)*dodici: interrupted\n/)
  })

  it('an upload of the standard input that does not end does not hold it up', async () => {
    const line = `sleep 60 | { ${program} --timeout 500ms -T - ${serve.plain}/echo; echo code $?; kill 0; }`
    const { output } = await runShell(`setsid sh -c '${line.replaceAll("'", `'\\''`)}'`)
    expect(output).toContain('\ncode 7\n')
  })
})

describe('dodici URL, with a pipe', () => {
  it('a standard input that does not end does not hold up a response', async () => {
    const running = new CliProcess(['-T', '-', `${serve.plain}/status/200`], {}, undefined, 'pipe')
    onTestFinished(() => running.kill())
    const { code, stdout } = await running.exit()
    expect([code, stdout]).toEqual([0, '200\n'])
  })

  it('--timeout ends it when the reader takes nothing: 7', async () => {
    const running = new CliProcess(['--timeout', '1s', `${serve.plain}/bytes/100000000`], {})
    onTestFinished(() => running.kill())
    running.child.stdout?.pause()
    await once(running.child, 'exit')
    running.child.stdout?.resume()
    const { code, stderr } = await running.exit()
    expect(code).toBe(7)
    expect(stderr).toContain('dodici: timed out after 1000 ms (--timeout)')
  })

  it('a document that is larger than a pipe is whole after --timeout', async () => {
    // On a busy machine it takes longer until the document is as large.
    for (let seconds = 1, isLarge = false; !isLarge; seconds *= 2) {
      const args = ['--timeout', `${seconds}s`, '--json', '-v', `${serve.plain}/bytes/1000000000000`]
      const running = new CliProcess(args, {})
      onTestFinished(() => running.kill())
      running.child.stdout?.pause()
      await running.warns('dodici: timed out after ')
      running.child.stdout?.resume()
      const { code, stdout } = await running.exit()
      expect(code).toBe(7)
      const document = JSON.parse(stdout)
      expect(document).toMatchObject({ exitCode: 7 })
      isLarge = stdout.length > 100_000
      if (isLarge) expect(document).toMatchObject({ response: { status: 200 } })
    }
  })
})

describe.skipIf(lacks('script'))('dodici URL, in a terminal', () => {
  it('has colours, and the body between the sections', async () => {
    const { code, output } = await runInTerminal(`${program} ${serve.plain}/status/200`)
    expect(code).toBe(0)
    expect(output).toContain('\u001b[1mResponse 200\u001b[0m')
    expect(output).toMatch(/200\r\n.*Times/)
  })

  it('shows the progress of a download to a file', async () => {
    const line = `${program} -o /dev/null ${serve.plain}/bytes/200000000`
    const { code, output } = await runInTerminal(line)
    expect(code).toBe(0)
    expect(output).toContain('\r\u001b[Kreceived ')
    expect(output).toMatch(/ of 200 MB, \d+ %, /)
  })
})
