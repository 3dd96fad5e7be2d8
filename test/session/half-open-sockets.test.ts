import type { LookupFunction, Socket } from 'node:net'
import { createServer } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { Client, errors, ProxyAgent } from '../../src/index.ts'
import { destroyWithTest } from '../support/clients/agents.ts'
import { ENGINES } from '../support/clients/engines.ts'
import { listen } from '../support/servers/listen.ts'

const CONNECTED = 'HTTP/1.1 200 Connection established\r\n\r\n'
/** Ends each attempt that nothing else ends. Milliseconds. */
const CONNECT_TIMEOUT = 300

/** What a proxy does with a CONNECT, and how it then leaves its side: open, if it says no more. */
const PROXIES: Readonly<Record<string, (socket: Socket) => void>> = {
  'says nothing': () => {},
  'says nothing, and ends its side': (socket) => socket.end(),
  'sends a part of its status line': (socket) => socket.write('HTTP/1.1 20'),
  'sends a part of its header, and ends its side': (socket) => socket.end('HTTP/1.1 200 OK\r\nvia: '),
  'sends what is no HTTP': (socket) => socket.write('SSH-2.0-OpenSSH_9.6\r\n\r\n'),
  'refuses, and stays': (socket) => socket.write('HTTP/1.1 407 No\r\ncontent-length: 2\r\n\r\nno'),
  'refuses with a body that stops': (socket) =>
    socket.write('HTTP/1.1 403 No\r\ncontent-length: 9\r\n\r\nno'),
  'refuses with a body without a length, and ends': (socket) => socket.end('HTTP/1.1 403 No\r\n\r\nno'),
  'connects, and is silent in TLS': (socket) => socket.write(CONNECTED),
  'connects, and ends its side': (socket) => socket.end(CONNECTED),
  'connects, and breaks off TLS': (socket) => socket.end(`${CONNECTED}\x16\x03\x03`),
  'connects to what speaks no TLS': (socket) => socket.write(`${CONNECTED}HTTP/1.1 400 Bad Request\r\n\r\n`),
}

/** Who ends the attempt. */
const ENDS = ['connectTimeout', 'destroy()', 'an abort, then close()'] as const

describe.each(ENGINES)('a CONNECT by engine %s to a proxy that', (engine) => {
  describe.each(Object.keys(PROXIES))('%s', (manner) => {
    it.each(ENDS)('ended by %s › leaves no socket open', async (end) => {
      const server = createServer({ allowHalfOpen: true }, (socket) => {
        socket.once('data', () => PROXIES[manner]?.(socket))
      })
      const proxy = await listen(server)
      const agent = new ProxyAgent({
        ...{ uri: `http://127.0.0.1:${proxy.port}`, engine, connectTimeout: CONNECT_TIMEOUT },
      })
      onTestFinished(() => agent.destroy())
      const abort = new AbortController()
      const asked = agent.request({
        ...{ origin: 'https://origin.test', path: '/', method: 'GET', signal: abort.signal },
      })
      const failed = asked.then(
        () => null,
        (error: Error) => error,
      )
      await expect.poll(() => proxy.sockets.length).toBeGreaterThan(0)
      if (end === 'destroy()') await agent.destroy()
      else if (end === 'an abort, then close()') {
        abort.abort()
        await agent.close()
      }
      expect(await failed).toBeInstanceOf(Error)
      const isOpen = ({ readableEnded, destroyed }: Socket): boolean => !readableEnded && !destroyed
      for (const socket of proxy.sockets) socket.resume()
      await expect.poll(() => proxy.sockets.filter(isOpen).length, { timeout: 3_000 }).toBe(0)
    })
  })
})

describe.each(ENGINES)('a lookup that gives an empty list, on engine %s', (engine) => {
  it.each([
    'http:',
    'https:',
  ])('for an %s origin › is a ConnectError of the call, and of the next', async (protocol) => {
    const lookup: LookupFunction = (_hostname, _options, callback) => callback(null, [])
    const client = destroyWithTest(new Client(`${protocol}//origin.test`, { engine, connect: { lookup } }))
    for (let round = 0; round < 2; round++) {
      const error = await client.request({ path: '/', method: 'GET' }).catch((reason: unknown) => reason)
      expect(error).toBeInstanceOf(errors.ConnectError)
      expect(error).toMatchObject({ code: 'ENOTFOUND', processed: 'no' })
    }
  })
})
