import { once } from 'node:events'
import type { ServiceError } from '@grpc/grpc-js'
import { Client, credentials, Metadata, status } from '@grpc/grpc-js'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { Cleaner } from './fetch-servers.ts'
import type { GrpcServer } from './grpc-servers.ts'
import { GRPC_SERVERS, GRPC_START_LIMIT, startGrpcServer } from './grpc-servers.ts'

const same = (message: Buffer): Buffer => message

/** A client that others wrote: ours must see the same. */
function toClient({ origin, ca }: GrpcServer): Client {
  const trust = ca === '' ? credentials.createInsecure() : credentials.createSsl(Buffer.from(ca))
  const client = new Client(new URL(origin).host, trust)
  onTestFinished(() => client.close())
  return client
}

function call(client: Client, method: string, message: string, deadline = Number.POSITIVE_INFINITY) {
  return new Promise<string>((resolve, reject) => {
    client.makeUnaryRequest(
      `/dodici.Test/${method}`,
      same,
      same,
      Buffer.from(message),
      new Metadata(),
      { deadline },
      (error, response) => (error ? reject(error) : resolve(`${response}`)),
    )
  })
}

describe.each(GRPC_SERVERS)('the server of %s, with requests of grpc-js', (name) => {
  const cleaner = new Cleaner()
  let plain: GrpcServer
  let secure: GrpcServer

  beforeAll(async () => {
    plain = await startGrpcServer(name, cleaner)
    secure = await startGrpcServer(name, cleaner, { tls: true })
  }, GRPC_START_LIMIT)
  afterAll(() => cleaner.clean())

  it('responds over h2c and TLS', async () => {
    for (const server of [plain, secure]) expect(await call(toClient(server), 'Echo', 'hello')).toBe('hello')
  })

  it('fails with a status that has a message and details', async () => {
    const wanted = { Code: status.NOT_FOUND, Message: 'nothing: 100 % of ü', Detail: 'more' }
    const error: ServiceError = await call(toClient(plain), 'Fail', JSON.stringify(wanted)).catch(
      (error) => error,
    )
    expect([error.code, error.details]).toEqual([wanted.Code, wanted.Message])
    expect(`${error.metadata.get('grpc-status-details-bin')[0]}`).toContain('dodici.test/detail')
  })

  it('reports the end of a call at its deadline', async () => {
    const client = toClient(plain)
    // On a busy machine a call needs longer to reach the server, which is asked for it over the same connection.
    for (let timeout = 200, isSeen = false; !isSeen; timeout *= 2) {
      const name = `late-${timeout}`
      const failed = call(client, 'Never', name, Date.now() + timeout).catch((error) => error.code)
      const seen = call(client, 'Event', `seen ${name}`)
      seen.catch(() => {})
      isSeen = await Promise.race([seen.then(() => true), failed.then(() => false)])
      // Later versions of grpc-go reset the stream with CANCEL, perhaps before the client's own clock.
      expect([status.DEADLINE_EXCEEDED, status.CANCELLED]).toContain(await failed)
      if (isSeen)
        expect(await call(client, 'Event', `ended ${name}`)).toMatch(/^(Canceled|DeadlineExceeded)$/)
    }
  })

  it('streams both ways', async () => {
    const chat = toClient(plain).makeBidiStreamRequest('/dodici.Test/Chat', same, same, new Metadata())
    const ended = once(chat, 'end')
    const heard: string[] = []
    chat.on('data', (message) => heard.push(`${message}`))
    for (const message of ['one', 'two', 'bye']) chat.write(Buffer.from(message))
    await ended
    expect(heard).toEqual(['one', 'two', 'bye'])
  })
})
