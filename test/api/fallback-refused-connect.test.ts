import { connect as connectTls } from 'node:tls'
import { describe, expect, it, onTestFinished } from 'vitest'
import { Agent } from '../../src/index.ts'
import { destroyWithTest } from '../support/clients/agents.ts'
import { startHttp1 } from '../support/servers/fallback-http1.ts'

describe('a CONNECT that HTTP/1.1 refuses, on a socket of the caller', () => {
  it('causes no uncaught exception', async () => {
    const server = await startHttp1()
    server.server.on('connect', (_request, socket) =>
      socket.write('HTTP/1.1 407 No\r\ncontent-length: 0\r\n\r\n'),
    )
    const agent = destroyWithTest(
      new Agent({
        connect: (_options, callback) => {
          const socket = connectTls(
            { port: server.port, host: 'localhost', ca: server.ca, ALPNProtocols: ['h2', 'http/1.1'] },
            () => callback(null, socket),
          )
        },
      }),
    )
    const uncaught: unknown[] = []
    const onUncaught = (error: unknown): void => void uncaught.push(error)
    process.prependListener('uncaughtException', onUncaught)
    onTestFinished(() => void process.off('uncaughtException', onUncaught))
    const failed = agent.connect({ origin: server.origin, path: 'a.example:443' })
    await expect(failed).rejects.toMatchObject({ name: 'TunnelRefusedError' })
    for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve))
    expect(uncaught).toEqual([])
  })
})
