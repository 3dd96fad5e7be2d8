import { once } from 'node:events'
import type { Readable } from 'node:stream'
import { PassThrough } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { Client, errors } from '../../src/index.ts'
import { destroyWithTest } from '../support/clients/agents.ts'
import type { StreamListener, TestServer } from '../support/servers/server.ts'
import { read, startServer } from '../support/servers/server.ts'
import { startWatched } from '../support/servers/watched-server.ts'

const PUT = { path: '/', method: 'PUT' } as const

function connect(server: TestServer): Client {
  const client = destroyWithTest(new Client(server.origin))
  return client
}

const echo: StreamListener = (stream) => {
  stream.respond({ ':status': 200 })
  stream.pipe(stream)
}

async function expectHello(client: Client): Promise<void> {
  expect(await (await client.request({ path: '/hello', method: 'GET' })).body.text()).toBe('hello')
}

describe('pipeline()', () => {
  describe('when the duplex is destroyed', () => {
    it('before there is a connection, nothing is sent', async () => {
      const { server } = await startWatched(echo)
      const duplex = connect(server).pipeline(PUT, ({ body }) => body)
      duplex.destroy()
      const [error] = await once(duplex, 'error')
      expect(error).toBeInstanceOf(errors.RequestAbortedError)
      expect(server.sessions).toHaveLength(0)
    })

    it('while it waits for the response, the stream is reset', async () => {
      let duplex = new PassThrough() as ReturnType<Client['pipeline']>
      const { server, codes, closed } = await startWatched(() => duplex.destroy(new Error('late')))
      const client = connect(server)
      duplex = client.pipeline(PUT, ({ body }) => body)
      duplex.write('data')
      const [error] = await once(duplex, 'error')
      expect(error.message).toBe('late')
      await closed
      expect(codes).toEqual([8])
      await expectHello(client)
    })

    it('midway through the response, the stream is reset and the body fails', async () => {
      const { server, codes, closed } = await startWatched(echo)
      const client = connect(server)
      let response: Readable = new PassThrough()
      const duplex = client.pipeline(PUT, ({ body }) => {
        response = body
        return body
      })
      duplex.write('data')
      await once(duplex, 'data')
      duplex.destroy()
      const [error] = await once(duplex, 'error')
      expect(error).toMatchObject({ name: 'AbortError' })
      await closed
      expect(codes).toEqual([8])
      expect(response.destroyed).toBe(true)
      await expectHello(client)
    })

    it('after the end, nothing happens', async () => {
      const client = connect(await startServer(echo))
      const duplex = client.pipeline(PUT, ({ body }) => body)
      duplex.end('data')
      expect(await read(duplex)).toBe('data')
      duplex.destroy()
      if (!duplex.closed) await once(duplex, 'close')
      expect(duplex.errored).toBeNull()
    })
  })

  it('ends with its signal midway, with the reason', async () => {
    const { server, codes, closed } = await startWatched(echo)
    const client = connect(server)
    const controller = new AbortController()
    const duplex = client.pipeline({ ...PUT, signal: controller.signal }, ({ body }) => body)
    duplex.write('data')
    await once(duplex, 'data')
    const reason = new Error('enough')
    const failed = once(duplex, 'error')
    controller.abort(reason)
    expect(await failed).toEqual([reason])
    await closed
    expect(codes).toEqual([8])
    await expectHello(client)
  })
})
