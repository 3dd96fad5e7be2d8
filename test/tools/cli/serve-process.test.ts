import { once } from 'node:events'
import type { Server } from 'node:net'
import { connect, createServer } from 'node:net'
import { networkInterfaces } from 'node:os'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { toPrintable } from '../../../src/cli/terminal.ts'
import { Client } from '../../../src/index.ts'
import { destroyWithTest } from '../../support/clients/agents.ts'
import { CliProcess, makeFolder, removeFolder, runCli, startServe } from '../../support/clients/cli.ts'

let cache = ''

beforeAll(async () => {
  cache = await makeFolder()
})

afterAll(() => removeFolder(cache))

async function start(...args: string[]) {
  const serve = await startServe(cache, ...args)
  onTestFinished(() => serve.running.kill())
  return serve
}

/** A port that is taken, on one address. */
async function takePort(host: string): Promise<number> {
  const server: Server = createServer()
  server.listen(0, host)
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const address = server.address()
  return address === null || typeof address === 'string' ? 0 : address.port
}

const hasIpv6 = Object.values(networkInterfaces()).some((list) =>
  list?.some(({ address }) => address === '::1'),
)

describe('dodici serve', () => {
  it.each(['SIGINT', 'SIGTERM'] as const)('ends at %s with 0, and closes its connections', async (signal) => {
    const { running, plain } = await start('--no-tls')
    const client = destroyWithTest(new Client(plain, { h2c: true }))
    const { statusCode, body } = await client.request({ path: '/sse?count=0', method: 'GET' })
    expect(statusCode).toBe(200)
    const idle = connect(Number(new URL(plain).port), '127.0.0.1')
    await once(idle, 'connect')
    const left = Promise.all([once(idle, 'close'), expect(body.text()).rejects.toThrow()])
    running.child.kill(signal)
    expect(await running.exit()).toMatchObject({ code: 0, signal: null, stderr: '' })
    await left
  })

  it('says where it is, what it has, and how clients come to trust it', async () => {
    const { running, plain, secure, caPath } = await start()
    const lines = running.stdout.split('\n')
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(110)
    expect(lines[0]).toBe('Serving test routes on loopback:')
    for (const text of [plain, secure, '/delay/MS', `curl --cacert ${caPath} ${secure}/headers`]) {
      expect(running.stdout).toContain(text)
    }
    expect(running.stdout).toContain(`new Agent({ connect: { ca: readFileSync('${caPath}') } })`)
  })

  it('--no-tls: says nothing of certificates', async () => {
    const { running, secure } = await start('--no-tls')
    expect(secure).toBe('')
    expect(running.stdout).not.toMatch(/certificate|https/)
  })

  it('--verbose: says each request', async () => {
    const { running, plain } = await start('--no-tls', '-v')
    const client = destroyWithTest(new Client(plain, { h2c: true }))
    const { body } = await client.request({ path: '/bytes/7?a=b', method: 'GET' })
    await body.dump()
    await running.says(' ms\n')
    expect(running.stdout).toMatch(/\nHTTP\/2\.0 GET \/bytes\/7\?a=b 200 7 B \d+\.\d ms\n$/)
  })

  it('goes on when the reader of its output leaves', async () => {
    const { running, plain } = await start('--no-tls', '-v')
    running.child.stdout?.destroy()
    const client = destroyWithTest(new Client(plain, { h2c: true }))
    for (let request = 0; request < 5; request++) {
      const { statusCode, body } = await client.request({ path: '/status/200', method: 'GET' })
      await body.dump()
      expect(statusCode).toBe(200)
    }
  })

  it('listens on loopback alone', async () => {
    const { plain } = await start('--no-tls')
    const { port } = new URL(plain)
    const addresses = Object.values(networkInterfaces()).flatMap((list) => list ?? [])
    const others = addresses.filter(({ internal, scopeid = 0 }) => !internal && scopeid === 0)
    const outcomes = others.map(async ({ address }) => {
      const socket = connect(Number(port), address)
      return once(socket, 'connect').then(
        () => `${address}: connected`,
        () => 'refused',
      )
    })
    expect((await Promise.all(outcomes)).filter((outcome) => outcome !== 'refused')).toEqual([])
    if (!hasIpv6) return
    const socket = connect(Number(port), '::1')
    await once(socket, 'connect')
    socket.destroy()
  })
})

describe('a port that is taken', () => {
  const env = () => ({ XDG_CACHE_HOME: cache })

  it.each([
    { option: '--port', rest: ['--tls-port', '0'] },
    { option: '--tls-port', rest: ['--port', '0'] },
  ])('is an error that names $option', async ({ option, rest }) => {
    const port = await takePort('127.0.0.1')
    const { code, stdout, stderr } = await runCli(['serve', option, `${port}`, ...rest], env())
    expect({ code, stdout }).toEqual({ code: 10, stdout: '' })
    expect(stderr).toBe(
      `dodici serve: port ${port} of the loopback interface is taken: choose another with ${option} PORT, or any with ${option} 0\n`,
    )
  })

  it.skipIf(!hasIpv6)('on ::1 is an error, too: localhost may be that', async () => {
    const port = await takePort('::1')
    const { code, stderr } = await runCli(['serve', '--no-tls', '--port', `${port}`], env())
    expect(code).toBe(10)
    expect(stderr).toContain(`port ${port} of the loopback interface is taken`)
  })
})

describe('a cache folder that cannot be used', () => {
  it('is an error that names what to do', async () => {
    const running = new CliProcess(['serve', '--port', '0', '--tls-port', '0'], {
      XDG_CACHE_HOME: '/dev/null/nothing',
    })
    onTestFinished(() => running.kill())
    const { code, stderr } = await running.exit()
    expect(code).toBe(1)
    expect(stderr).toContain("can't keep certificates in /dev/null/nothing/dodici: ENOTDIR")
    expect(stderr).toContain('Set XDG_CACHE_HOME to a folder that you own, or use --no-tls.')
  })
})

describe('toPrintable()', () => {
  it('shows what a terminal would obey', () => {
    expect(toPrintable('/\u001b[31m\r\n\u007f\u009b ü~')).toBe('/\\x1b[31m\\x0d\\x0a\\x7f\\x9b ü~')
  })
})
