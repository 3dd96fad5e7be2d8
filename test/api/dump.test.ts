import { getEventListeners, once } from 'node:events'
import type { ServerHttp2Stream } from 'node:http2'
import { describe, expect, it } from 'vitest'
import { startClient } from '../support/clients/agents.ts'
import type { StreamListener } from '../support/servers/server.ts'

/** One response's body, and the server's end of its stream. */
async function ask(response: StreamListener) {
  const streams: ServerHttp2Stream[] = []
  const { client } = await startClient((stream, headers) => {
    streams.push(stream)
    response(stream, headers)
  })
  const { body } = await client.request({ path: '/', method: 'GET' })
  const [stream] = streams
  if (stream === undefined) throw new Error('The server has no stream')
  return { body, stream, client }
}

const begin: StreamListener = (stream) => {
  stream.respond({ ':status': 200 })
  stream.write('x')
}

describe('dump()', () => {
  it('ends with the body, which is closed then and counts as used, and leaves no listener on its signal', async () => {
    const { body, stream, client } = await ask(begin)
    const { signal } = new AbortController()
    const dumped = body.dump({ signal })
    stream.end('y')
    await dumped
    expect([body.closed, body.bodyUsed]).toEqual([true, true])
    expect(getEventListeners(signal, 'abort')).toEqual([])
    await expect.poll(() => client.stats).toMatchObject({ running: 0 })
    await expect(body.text()).rejects.toThrow('already been read')
  })

  it('is rejected with the reason of its signal, and resets the stream', async () => {
    const { body, stream } = await ask(begin)
    stream.on('error', () => {})
    const closed = once(stream, 'close')
    const aborter = new AbortController()
    const reason = new Error('enough')
    const dumped = body.dump({ signal: aborter.signal })
    aborter.abort(reason)
    await expect(dumped).rejects.toBe(reason)
    await closed
    expect(stream.rstCode).toBe(8)
    expect(body.destroyed).toBe(true)
  })

  it('resolves when the body fails: the caller has not asked for it', async () => {
    const { body, stream } = await ask(begin)
    stream.on('error', () => {})
    const dumped = body.dump()
    stream.destroy(new Error('broken'))
    expect(await dumped).toBeUndefined()
    expect(body.destroyed).toBe(true)
  })

  it('counts bytes that came before the call, and bytes that come after it', async () => {
    const { body, stream } = await ask(begin)
    stream.on('error', () => {})
    const closed = once(stream, 'close')
    const dumped = body.dump({ limit: 2 })
    stream.write('yz')
    await dumped
    await closed
    expect(stream.rstCode).toBe(8)
  })

  it('emits the end for listeners that were added before', async () => {
    const { body, stream } = await ask(begin)
    const ended = once(body, 'end')
    const dumped = body.dump()
    stream.end()
    await Promise.all([ended, dumped])
    expect(body.readableEnded).toBe(true)
  })

  it('takes no data from a running text(), and waits for it', async () => {
    const { body, stream } = await ask(begin)
    const text = body.text()
    const dumped = body.dump()
    stream.end('y')
    expect(await text).toBe('xy')
    await dumped
    expect(body.closed).toBe(true)
  })

  it('goes on where a reader has stopped', async () => {
    const { body, stream } = await ask(begin)
    const [first] = await once(body, 'data')
    body.pause()
    const dumped = body.dump()
    stream.end('y')
    await dumped
    expect(String(first)).toBe('x')
    expect(body.closed).toBe(true)
  })
})
