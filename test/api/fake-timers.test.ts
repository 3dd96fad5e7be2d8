import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { Client } from '../../src/index.ts'
import type { ConnectionScript } from '../../src/testing/fault-connection.ts'
import { destroyWithTest } from '../support/clients/agents.ts'
import { CANCEL, REFUSED_STREAM } from '../support/peers/error-codes.ts'
import { SERVE, startPeer } from '../support/peers/peer-rig.ts'

const GET = { path: '/', method: 'GET' } as const

async function start(
  script: ConnectionScript,
): Promise<{ client: Client; peer: Awaited<ReturnType<typeof startPeer>> }> {
  const peer = await startPeer(script)
  const client = destroyWithTest(new Client(peer.origin))
  return { client, peer }
}

describe('when timers are faked after the import', () => {
  beforeEach(() => {
    vi.useFakeTimers()
    return () => vi.useRealTimers()
  })

  it('destroy() settles, with a call in flight or without', async () => {
    const { client, peer } = await start({})
    const failed = client.request(GET).catch((error: Error) => error.name)
    await peer.waitFor(() => peer.requests.length === 1)
    await client.destroy()
    expect(await failed).toBe('ClientDestroyedError')
    await new Client(peer.origin).destroy()
  })

  it('close() settles', async () => {
    const { client } = await start(SERVE)
    const { body } = await client.request(GET)
    expect(await body.text()).toBe('GET /')
    await client.close()
  })

  it('a refused stream is asked for once more', async () => {
    let refusals = 0
    const { client } = await start({
      onComplete: (stream) => {
        if (refusals++ === 0) stream.reset(REFUSED_STREAM)
        else stream.respond()
      },
    })
    const { body } = await client.request(GET)
    expect(await body.text()).toBe('GET /')
  })

  it('an aborted stream is reset', async () => {
    const aborter = new AbortController()
    const { client, peer } = await start({ onComplete: () => aborter.abort() })
    await expect(client.request({ ...GET, signal: aborter.signal })).rejects.toThrow()
    // Not `expect.poll()`: under fake timers it moves their time.
    await peer.waitFor(() => peer.requests[0]?.resetCode === CANCEL)
  })

  it('a limit fires in real time', async () => {
    const { client } = await start({})
    const failure = client.request({ ...GET, headersTimeout: 20 }).catch((error: Error) => error.name)
    expect(await failure).toBe('HeadersTimeoutError')
  })

  it('a limit does not fire when the faked time has passed', async () => {
    const { client, peer } = await start({})
    const call = client.request({ ...GET, headersTimeout: 60_000, requestTimeout: 60_000 })
    await peer.waitFor(() => peer.requests.length === 1)
    await vi.advanceTimersByTimeAsync(3_600_000)
    peer.requests[0]?.respond()
    expect(await (await call).body.text()).toBe('GET /')
  })

  it('and real ones are restored, a client that was used before still has its limits', async () => {
    const { client, peer } = await start({
      onComplete: (stream) => stream.path === '/' && stream.respond(),
    })
    expect(await (await client.request({ ...GET, headersTimeout: 60_000 })).body.text()).toBe('GET /')
    vi.useRealTimers()
    const call = client.request({ ...GET, path: '/hang', headersTimeout: 20 })
    expect(await call.catch((error: Error) => error.name)).toBe('HeadersTimeoutError')
    expect(peer.connections).toHaveLength(1)
  })
})

describe('when timers are faked before the import', () => {
  it('calls and their limits use real time', async () => {
    const peer = await startPeer({ onComplete: (stream) => stream.path === '/' && stream.respond() })
    vi.useFakeTimers()
    vi.resetModules()
    onTestFinished(() => void vi.useRealTimers())
    const fresh = await import('../../src/index.ts')
    expect(fresh.Client).not.toBe(Client)
    const client = new fresh.Client(peer.origin)
    expect(await (await client.request(GET)).body.text()).toBe('GET /')
    const call = client.request({ ...GET, path: '/hang', headersTimeout: 20 })
    expect(await call.catch((error: Error) => error.name)).toBe('HeadersTimeoutError')
    await client.destroy()
  })
})
