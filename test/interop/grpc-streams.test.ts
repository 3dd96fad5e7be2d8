import { randomUUID } from 'node:crypto'
import { expect, it } from 'vitest'
import { Status } from '../../examples/grpc/protocol.mjs'
import { errors } from '../../src/index.ts'
import { describeGrpc, toOutgoing } from './grpc-rig.ts'

const MEBIBYTE = 1_024 * 1_024

/** Milliseconds of quiet that the client's other calls are ended after. */
const SHORT = 50

const HEADERS = { 'content-type': 'application/grpc', te: 'trailers' }
/** With its prefix: one byte. */
const MESSAGE = Buffer.from([0, 0, 0, 0, 1, 0x61])

describeGrpc('messages of gRPC', (rig) => {
  it('that are larger than any window go both ways', async () => {
    const message = Buffer.alloc(17 * MEBIBYTE, 'dodici')
    const [response] = await rig.ask(rig.toClient(), 'Echo', message.toString(), {
      maxMessageSize: message.length,
    })
    // Not by toEqual(): it would print all of it.
    expect(response === message.toString()).toBe(true)
  })

  it('that are larger than permitted end only their call', async () => {
    const client = rig.toClient()
    const request = JSON.stringify({ Count: 3, Size: 5 * MEBIBYTE })
    const error = await rig.fail(client, 'Expand', request)
    expect([error.code, error.message]).toEqual([
      Status.RESOURCE_EXHAUSTED,
      'A message has 5242880 bytes, of 4194304 at most',
    ])
    expect(await rig.ask(client, 'Echo', 'still there')).toEqual(['still there'])
  })

  it('wait for a reader that is slow', async () => {
    const client = rig.toClient({ initialWindowSize: 65_535 })
    const request = JSON.stringify({ Count: 200, Size: 10_000 })
    let count = 0
    for await (const _ of rig.call(client, 'Expand', request)) {
      // Another call goes all the way there and back meanwhile.
      if (++count % 20 === 0) await rig.ask(client, 'Echo', `${count}`)
    }
    expect(count).toBe(200)
  })
})

describeGrpc('gRPC calls on one connection', (rig) => {
  it('run 100 at a time, of all kinds', async () => {
    const client = rig.toClient()
    const connections = new Set<string>()
    const calls = Array.from({ length: 100 }, async (_, index) => {
      if (index % 4 === 0) return await rig.ask(client, 'Echo', `${index}`)
      if (index % 4 === 1) return await rig.ask(client, 'Expand', JSON.stringify({ Count: index, Size: 99 }))
      const outgoing = toOutgoing()
      for (let sent = 0; sent < index; sent++) outgoing.write(Buffer.from(`${sent}`))
      outgoing.end()
      return await rig.ask(client, index % 4 === 2 ? 'Collect' : 'Chat', outgoing)
    })
    for (const [index, messages] of (await Promise.all(calls)).entries()) {
      expect(messages.length).toBe(index % 2 === 0 ? 1 : index)
    }
    for (const [connection = ''] of await Promise.all([1, 2].map(() => rig.ask(client, 'Connection', '')))) {
      connections.add(connection)
    }
    expect(connections.size).toBe(1)
  })

  it('may be silent for longer than the timeouts of other requests', async () => {
    const client = rig.toClient({ headersTimeout: SHORT, bodyTimeout: SHORT, uploadTimeout: SHORT })
    const outgoing = toOutgoing()
    const chat = rig.call(client, 'Chat', outgoing)[Symbol.asyncIterator]()
    outgoing.write(Buffer.from('one'))
    expect(`${(await chat.next()).value}`).toBe('one')

    // Read: what its reader holds back has no timeout anyway.
    const second = chat.next()
    const name = randomUUID()
    const waiting = rig.ask(client, 'Event', `seen ${name}`)

    // Requests that are as quiet, and have these timeouts.
    const event = { path: '/dodici.Test/Event', method: 'POST', headers: HEADERS, body: MESSAGE }
    await expect(client.request(event)).rejects.toThrow(errors.HeadersTimeoutError)
    const request = { path: '/dodici.Test/Chat', method: 'POST', headers: HEADERS }
    await expect(client.request({ ...request, body: toOutgoing() })).rejects.toThrow(
      errors.UploadTimeoutError,
    )
    const body = toOutgoing()
    body.write(MESSAGE)
    const response = await client.request({ ...request, body, uploadTimeout: 0 })
    await expect(response.body.text()).rejects.toThrow(errors.BodyTimeoutError)

    outgoing.end(Buffer.from('two'))
    expect(`${(await second).value}`).toBe('two')
    expect((await chat.next()).done).toBe(true)
    const never = rig.fail(client, 'Never', name)
    expect(await waiting).toEqual(['seen'])
    await client.destroy()
    expect((await never).code).toBe(Status.UNAVAILABLE)
  })
})

describeGrpc(
  'gRPC calls to a server that retires connections by their age',
  (rig) => {
    it('all get responses, and running streams end normally', async () => {
      const client = rig.toClient()
      const outgoing = toOutgoing()
      outgoing.write(Buffer.from('first'))
      const chat = rig.call(client, 'Chat', outgoing)[Symbol.asyncIterator]()
      await chat.next()
      const connections = new Set<string>()
      while (connections.size < 3) {
        const calls = Array.from({ length: 20 }, () => rig.ask(client, 'Connection', ''))
        for (const [connection = ''] of await Promise.all(calls)) connections.add(connection)
      }
      outgoing.end(Buffer.from('last'))
      expect(`${(await chat.next()).value}`).toBe('last')
      expect((await chat.next()).done).toBe(true)
    })
  },
  { maxConnectionAge: 100 },
)
