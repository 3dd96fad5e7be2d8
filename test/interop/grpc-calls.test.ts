import { expect, it } from 'vitest'
import type { Metadata } from '../../examples/grpc/protocol.mjs'
import { Status } from '../../examples/grpc/protocol.mjs'
import { describeGrpc, toMessages, toOutgoing } from './grpc-rig.ts'

/** Leaves out metadata that a server has added. */
function pick(metadata: Metadata, prefix: string): Metadata {
  const own = metadata.filter(([name]) => name.startsWith(prefix))
  return own.sort(([one], [other]) => one.localeCompare(other))
}

describeGrpc('a gRPC call', (rig, name) => {
  it('with one message each way returns the response', async () => {
    expect(await rig.ask(rig.toClient(), 'Echo', 'hello')).toEqual(['hello'])
  })

  it('accepts empty messages', async () => {
    const client = rig.toClient()
    expect(await rig.ask(client, 'Echo', '')).toEqual([''])
    expect(await rig.ask(client, 'Chat', toMessages('', 'a', ''))).toEqual(['', 'a', ''])
  })

  it('sends and returns metadata, duplicates apart, and bytes as bytes', async () => {
    const bytes = Buffer.from([0, 1, 254, 255])
    const metadata: Metadata = ['initial', 'trailing'].flatMap(
      (part): Metadata => [
        [`x-${part}`, 'first, with a comma'],
        [`x-${part}`, 'second'],
        [`x-${part}-bin`, bytes],
        [`x-${part}-bin`, Buffer.alloc(0)],
      ],
    )
    let initial: Metadata = []
    let trailing: Metadata = []
    await rig.ask(rig.toClient(), 'Echo', 'hello', {
      metadata,
      onMetadata: (fields) => {
        initial = fields
      },
      onTrailers: (fields) => {
        trailing = fields
      },
    })
    // Node's server has joined them when grpc-js gets them.
    const toTexts = (part: string) =>
      name === 'grpc-js'
        ? [[part, 'first, with a comma, second']]
        : metadata.filter(([field]) => field === part)
    for (const [brought, part] of [
      [initial, 'x-initial'],
      [trailing, 'x-trailing'],
    ] as const) {
      const binary = metadata.filter(([field]) => field === `${part}-bin`)
      expect(pick(brought, part)).toEqual([...toTexts(part), ...binary])
    }
  })

  it('with a stream of messages to the server returns one response', async () => {
    const [response = ''] = await rig.ask(rig.toClient(), 'Collect', toMessages('one', 'two', 'three'))
    expect(JSON.parse(response)).toEqual({ Count: 3, Size: 11 })
  })

  it('with a stream from the server returns each message', async () => {
    const messages = await rig.ask(rig.toClient(), 'Expand', JSON.stringify({ Count: 1_000, Size: 100 }))
    expect(messages).toEqual(Array.from({ length: 1_000 }, () => `"${'e'.repeat(98)}"`))
  })

  it('with two streams lets both sides send in turns', async () => {
    const outgoing = toOutgoing()
    outgoing.write(Buffer.from('1'))
    const heard: string[] = []
    for await (const message of rig.call(rig.toClient(), 'Chat', outgoing)) {
      heard.push(`${message}`)
      if (heard.length < 20) outgoing.write(Buffer.from(`${heard.length + 1}`))
      else outgoing.end()
    }
    expect(heard).toEqual(Array.from({ length: 20 }, (_, index) => `${index + 1}`))
  })

  it('that the server ends first closes the iterable that is being sent', async () => {
    const sent = [Buffer.from('bye')]
    let onReturn: (value: unknown) => void = () => {}
    const returned = new Promise((resolve) => {
      onReturn = resolve
    })
    const iterator: AsyncIterator<Uint8Array> = {
      next: () => {
        const value = sent.shift()
        return value === undefined ? new Promise(() => {}) : Promise.resolve({ value })
      },
      return: async () => {
        onReturn('returned')
        return { done: true, value: null }
      },
    }
    const heard = rig.ask(rig.toClient(), 'Chat', { [Symbol.asyncIterator]: () => iterator })
    expect(await Promise.all([heard, returned])).toEqual([['bye'], 'returned'])
  })
})

describeGrpc('a gRPC call that fails', (rig) => {
  it('has the status, its message and its details', async () => {
    const failure = { Code: 5, Message: 'nothing: 100 % of ü\n', Detail: 'more' }
    const error = await rig.fail(rig.toClient(), 'Fail', JSON.stringify(failure))
    expect([error.code, error.message]).toEqual([failure.Code, failure.Message])
    const details = error.metadata.find(([name]) => name === 'grpc-status-details-bin')?.[1]
    expect(`${details}`).toContain('dodici.test/detail')
  })

  it('returns each message that came before', async () => {
    const Failure = { Code: 10, Message: 'enough' }
    const seen: number[] = []
    const reading = async () => {
      const request = JSON.stringify({ Count: 50, Size: 1_000, Failure })
      for await (const message of rig.call(rig.toClient(), 'Expand', request)) seen.push(message.length)
    }
    await expect(reading()).rejects.toMatchObject({ code: 10, message: 'enough' })
    expect(seen).toEqual(Array.from({ length: 50 }, () => 1_000))
  })

  it('has a status in its header section, if the method is unknown', async () => {
    const error = await rig.fail(rig.toClient(), 'Missing', 'hello')
    expect(error.code).toBe(Status.UNIMPLEMENTED)
  })
})

describeGrpc(
  'a gRPC call over TLS',
  (rig) => {
    it('brings the response', async () => {
      expect(await rig.ask(rig.toClient(), 'Echo', 'hello')).toEqual(['hello'])
    })
  },
  { tls: true },
)
