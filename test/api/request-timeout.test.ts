import { describe, expect, it } from 'vitest'
import { Client, errors } from '../../src/index.ts'
import { destroyWithTest } from '../support/clients/agents.ts'
import { startServer } from '../support/servers/server.ts'

describe('a requestTimeout below a second', () => {
  it.each([
    'the request',
    'the client',
  ])('of %s never fires early, however many calls there are', async (whose) => {
    const server = await startServer(() => {})
    const clients = [60, 75, 90].map((requestTimeout) => {
      const client = destroyWithTest(
        new Client(server.origin, whose === 'the client' ? { requestTimeout } : {}),
      )
      return { client, requestTimeout }
    })
    const calls = clients.flatMap(({ client, requestTimeout }) =>
      Array.from({ length: 40 }, async (_, i) => {
        const own = whose === 'the client' ? requestTimeout : requestTimeout + i * 0.7
        const from = performance.now()
        const limit = whose === 'the client' ? {} : { requestTimeout: own }
        const error: unknown = await client.request({ path: '/', method: 'GET', ...limit }).then(
          () => null,
          (thrown: unknown) => thrown,
        )
        expect(error).toBeInstanceOf(errors.RequestTimeoutError)
        expect(performance.now() - from).toBeGreaterThanOrEqual(own)
      }),
    )
    await Promise.all(calls)
  })
})
