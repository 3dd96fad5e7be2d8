import { randomUUID } from 'node:crypto'
import { expect, it } from 'vitest'
import { Status } from '../../examples/grpc/protocol.mjs'
import type { Client } from '../../src/index.ts'
import { errors } from '../../src/index.ts'
import type { GrpcRig } from './grpc-rig.ts'
import { describeGrpc, toOutgoing } from './grpc-rig.ts'

const FAR = 60_000

describeGrpc('the deadline of a gRPC call', (rig) => {
  it('is sent to the server', async () => {
    const client = rig.toClient()
    const [left] = await rig.ask(client, 'Deadline', '', { timeout: FAR })
    expect(Number(left)).toBeGreaterThan(0)
    expect(Number(left)).toBeLessThanOrEqual(FAR)
    expect(await rig.ask(client, 'Deadline', '')).toEqual(['null'])
    // Of more than eight digits of milliseconds.
    const [days] = await rig.ask(client, 'Deadline', '', { timeout: 2e8 })
    expect(Number(days)).toBeGreaterThan(1e8)
  })

  it.each([
    'Never',
    'Chat',
  ])('ends the call on both sides, and leaves the connection open: %s', async (method) => {
    const client = rig.toClient()
    const [first] = await rig.ask(client, 'Connection', '')
    const { name, error } = await failLate(rig, client, method)
    expect(error.code).toBe(Status.DEADLINE_EXCEEDED)
    const [outcome] = await rig.ask(client, 'Event', `ended ${name}`)
    expect(outcome).toMatch(/^(Canceled|DeadlineExceeded)$/)
    expect(await rig.ask(client, 'Connection', '')).toEqual([first])
  })
})

describeGrpc('a gRPC call that is cancelled', (rig) => {
  it.each(['Never', 'Chat'])('by its signal ends on both sides: %s', async (method) => {
    const client = rig.toClient()
    const name = randomUUID()
    const { signal, abort } = toAborter()
    const input = method === 'Never' ? name : toOutgoing()
    const failed = rig.fail(client, method, input, { signal, metadata: [['x-name', name]] })
    await rig.ask(client, 'Event', `seen ${name}`)
    abort()
    const error = await failed
    expect(error.code).toBe(Status.CANCELLED)
    expect(await rig.ask(client, 'Event', `ended ${name}`)).toEqual(['Canceled'])
  })

  it('before it begins is never sent', async () => {
    const error = await rig.fail(rig.toClient(), 'Echo', 'hello', { signal: AbortSignal.abort() })
    expect(error.code).toBe(Status.CANCELLED)
    expect(error.cause).toBeInstanceOf(Error)
  })

  it('by a signal that is a deadline fails with DEADLINE_EXCEEDED', async () => {
    const error = await rig.fail(rig.toClient(), 'Never', randomUUID(), { signal: AbortSignal.timeout(50) })
    expect(error.code).toBe(Status.DEADLINE_EXCEEDED)
  })

  it('by leaving the loop ends on the server', async () => {
    const client = rig.toClient()
    const name = randomUUID()
    const outgoing = toOutgoing()
    outgoing.write(Buffer.from('one'))
    for await (const message of rig.call(client, 'Chat', outgoing, { metadata: [['x-name', name]] })) {
      expect(`${message}`).toBe('one')
      break
    }
    expect(await rig.ask(client, 'Event', `ended ${name}`)).toEqual(['Canceled'])
    expect(client.stats.running).toBe(0)
  })

  it('by destroy() is unavailable', async () => {
    const client = rig.toClient()
    const name = randomUUID()
    const failed = rig.fail(client, 'Never', name)
    await rig.ask(client, 'Event', `seen ${name}`)
    await client.destroy(new errors.SocketError('gone'))
    expect((await failed).code).toBe(Status.UNAVAILABLE)
  })
})

/** A call that the server has seen before its deadline: on a busy machine that may take a longer one. */
async function failLate(rig: GrpcRig, client: Client, method: string) {
  for (let timeout = 100; ; timeout *= 2) {
    const name = randomUUID()
    const input = method === 'Never' ? name : toOutgoing()
    const failed = rig.fail(client, method, input, { timeout, metadata: [['x-name', name]] })
    const seen = rig.ask(client, 'Event', `seen ${name}`)
    const isSeen = await Promise.race([seen.then(() => true), failed.then(() => false)])
    if (isSeen) return { name, error: await failed }
  }
}

function toAborter(): { signal: AbortSignal; abort: () => void } {
  const controller = new AbortController()
  return { signal: controller.signal, abort: () => controller.abort() }
}
