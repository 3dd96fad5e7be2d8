import type { IncomingMessage, ServerResponse } from 'node:http'
import { fileURLToPath } from 'node:url'
import { afterEach, describe, expect, it } from 'vitest'
import { bundle } from '../support/clients/bundled.ts'
import { runNode } from '../support/clients/child.ts'
import { startHttp1 } from '../support/servers/fallback-http1.ts'
import { startServer } from '../support/servers/server.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const [MAJOR = 0] = process.versions.node.split('.').map(Number)
const toScript = bundle({
  'fallback-child': new URL('../support/clients/fallback-child.ts', import.meta.url),
})

/** The environment of the child process, and of no other. */
const PROXY = { NODE_USE_ENV_PROXY: '1', HTTP_PROXY: 'http://127.0.0.1:1' }

afterEach(() => {
  for (const name of Object.keys(PROXY)) Reflect.deleteProperty(process.env, name)
})

/** The lines that a child wrote, once it has ended by itself. */
async function run(mode: string, origin: string, ca = ''): Promise<unknown[]> {
  const script = toScript('fallback-child')
  const args = [mode, root, origin, Buffer.from(ca).toString('base64')]
  const { code, signal, stdout, stderr } = await runNode(script, ...args)
  expect(stderr).toBe('')
  expect([code, signal]).toEqual([0, null])
  return stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
}

const HELLO = [200, 'GET / over 1.1']

describe('the default fallback in a process of its own', () => {
  it.each([true, false])('does not keep it alive by an idle connection, with TLS: %s', async (tls) => {
    const server = await startHttp1(undefined, { tls })
    server.server.keepAliveTimeout = 0
    expect(await run('idle', server.origin, server.ca)).toEqual([HELLO])
  })

  it('leaves nothing behind when its agent is closed', async () => {
    const server = await startHttp1()
    expect(await run('closed', server.origin, server.ca)).toEqual([HELLO, []])
  })

  it.each(['cold', 'warm'])('is made %s, where npm undici was told to use ours', async (mode) => {
    const server = await startHttp1(undefined, { tls: false })
    expect(await run(mode, server.origin)).toEqual([HELLO, 200])
  })

  it('is made of the Agent behind another global dispatcher, which stays in place', async () => {
    const server = await startHttp1(undefined, { tls: false })
    expect(await run('borrowed', server.origin)).toEqual([HELLO, [true, true]])
  })

  it("fails with a clear error if Node's own was never made, and leaves the present one in place", async () => {
    const server = await startHttp1(undefined, { tls: false })
    const [error, slots] = await run('replaced', server.origin)
    expect(error).toEqual(['NotSupportedError', 'no', expect.stringContaining('fallback')])
    expect(slots).toEqual([true, true])
    expect(server.requests).toEqual([])
  })

  // Node 22.21 has it as well; a line that hasn't would ignore it.
  if (MAJOR >= 24) {
    it("goes around the environment's proxy for an Agent of the caller's", async () => {
      const server = await startHttp1(undefined, { tls: false })
      Object.assign(process.env, PROXY)
      const [plain, proxied] = await run('proxy', server.origin)
      expect(plain).toEqual(HELLO)
      // It asks the proxy, where nothing listens.
      expect(proxied).toEqual(['ConnectError', 'no', expect.stringContaining('http://127.0.0.1:1')])
    })
  }
})

describe('a hundred sites and one agent', () => {
  it('are each requested by their own protocol, which is found out only once', async () => {
    const serve1 = ({ url, httpVersion }: IncomingMessage, response: ServerResponse): void => {
      response.end(`${httpVersion} ${url}`)
    }
    const modern = await Promise.all(
      Array.from({ length: 50 }, () =>
        startServer(
          (stream, { ':path': path }) => {
            stream.respond({ ':status': 200 })
            stream.end(`2 ${path}`)
          },
          { tls: true },
        ),
      ),
    )
    const old = await Promise.all(Array.from({ length: 30 }, () => startHttp1(serve1)))
    const plain = await Promise.all(Array.from({ length: 20 }, () => startHttp1(serve1, { tls: false })))
    const origins = [...modern, ...old, ...plain].map(({ origin }) => origin)
    const [facts] = await run('sites', JSON.stringify(origins), modern[0]?.ca)
    const versions = origins.map((_, index) => (index < 50 ? '2' : '1.1'))
    expect(facts).toEqual({ failed: 0, seen: versions })
    expect(modern.map(({ sessions }) => sessions.length)).toEqual(modern.map(() => 1))
    // The connection that has found out serves requests, too.
    for (const { handshakes, requests } of old) {
      const used = new Set(requests.map(({ socket }) => socket))
      expect(handshakes).toHaveLength(used.size)
    }
    expect([...old, ...plain].map(({ requests }) => requests.length)).toEqual(Array(50).fill(10))
  })
})
