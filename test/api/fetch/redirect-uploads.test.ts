import { Readable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { Agent, fetch } from '../../../src/index.ts'
import { destroyWithTest, toAgent } from '../../support/clients/agents.ts'
import { INTERNAL_ERROR } from '../../support/peers/error-codes.ts'
import { startPeer } from '../../support/peers/peer-rig.ts'
import { toTlsPeer } from '../../support/peers/peer-tls.ts'
import { startOrigin, toFailure, toLatest, toMixedAgent, toValues } from './request-rig.ts'

/** More than a stream's window. */
const LARGE = 'x'.repeat(1_000_000)

describe('when a redirect comes before the body was sent', () => {
  it.each([
    [307, 'POST', LARGE.length],
    [308, 'POST', LARGE.length],
    [302, 'GET', 0],
    [303, 'GET', 0],
  ])('stops sending, and follows a %i by %s', async (status, method, length) => {
    for (const isWhole of [true, false]) {
      const peer = await startPeer({
        onRequest: (stream) => {
          if (stream.path !== '/from') return
          stream.head(status, [['location', '/to']])
          if (isWhole) stream.end()
        },
      })
      const init = { method: 'POST', body: LARGE, dispatcher: toAgent({}) }
      const call = fetch(`${peer.origin}/from`, init)
      // Not because of what comes next.
      await peer.waitFor(() => peer.requests[1]?.isComplete === true && peer.requests[0]?.resetCode !== null)
      peer.request('/to').respond('there')
      const response = await call
      expect([response.redirected, await response.text()]).toEqual([true, 'there'])
      expect(peer.request('/from').isComplete).toBe(false)
      expect([peer.request('/to').method, peer.request('/to').length]).toEqual([method, length])
      expect(peer.connections).toHaveLength(1)
    }
  })

  it('cancels a stream that a 303 drops', async () => {
    const peer = await startPeer({
      onRequest: (stream) => {
        if (stream.path === '/to') {
          stream.respond('there')
          return
        }
        stream.head(303, [['location', '/to']])
        stream.end()
      },
    })
    let cancel = (): void => {}
    const cancelled = new Promise<void>((resolve) => {
      cancel = resolve
    })
    const body = new ReadableStream({ cancel })
    const init = { method: 'POST', body, duplex: 'half', dispatcher: toAgent({}) } as const
    expect(await (await fetch(`${peer.origin}/from`, init)).text()).toBe('there')
    await cancelled
    expect(peer.request('/to').method).toBe('GET')
  })

  it('sends nothing more if the end of the upload aborts the fetch', async () => {
    const peer = await startPeer({
      onRequest: (stream) => {
        if (stream.path === '/from') {
          stream.head(303, [['location', '/to']])
          stream.end()
        } else stream.respond('there')
      },
    })
    const controller = new AbortController()
    const reason = new Error('enough')
    const body = new Readable({
      read() {},
      destroy(error, callback) {
        controller.abort(reason)
        callback(error)
      },
    })
    const dispatcher = toAgent({})
    const init = { method: 'POST', body, duplex: 'half', signal: controller.signal, dispatcher } as const
    await expect(fetch(`${peer.origin}/from`, init)).rejects.toBe(reason)
    expect(await (await fetch(`${peer.origin}/sibling`, { dispatcher })).text()).toBe('there')
    expect(peer.requests.map(({ path }) => path)).toEqual(['/from', '/sibling'])
  })

  it.each([301, 302, 307, 308])('refuses a %i for a stream, which can be read only once', async (status) => {
    const peer = await startPeer({
      onRequest: (stream) => {
        stream.head(status, [['location', '/to']])
        stream.end()
      },
    })
    const body = new ReadableStream({ pull: (controller) => controller.enqueue(new Uint8Array(10_000)) })
    const init = { method: 'POST', body, duplex: 'half', dispatcher: toAgent({}) } as const
    expect(await toFailure(fetch(`${peer.origin}/from`, init))).toMatch(/^TypeError: fetch failed ← .*stream/)
    await peer.waitFor(() => peer.request('/from').resetCode !== null)
    expect(peer.ledger).toEqual(['0/1 POST /from'])
  })
})

describe('when the body of a redirect is not needed', () => {
  it('sends the next request before the body has come, and resets its stream', async () => {
    const peer = await startPeer({
      onRequest: (stream) => {
        if (stream.path !== '/from') {
          stream.respond('there')
          return
        }
        stream.head(302, [['location', '/to']])
        stream.data('and more will come')
      },
    })
    const response = await fetch(`${peer.origin}/from`, { dispatcher: toAgent({}) })
    expect(await response.text()).toBe('there')
    await peer.waitFor(() => peer.request('/from').resetCode !== null)
    expect(peer.connections).toHaveLength(1)
  })

  it('drops a long one', async () => {
    const peer = await startPeer({
      onRequest: (stream) => {
        if (stream.path === '/from') {
          stream.head(302, [['location', '/to']])
          for (let i = 0; i < 10; i++) stream.data('x'.repeat(10_000))
        }
      },
    })
    const call = fetch(`${peer.origin}/from`, { dispatcher: toAgent({}) })
    await peer.waitFor(() => peer.requests.length === 2 && peer.request('/from').resetCode !== null)
    peer.request('/to').respond('there')
    expect(await (await call).text()).toBe('there')
  })

  it('reads a short one to its end', async () => {
    const peer = await startPeer({
      onRequest: (stream) => {
        if (stream.path === '/from') {
          stream.head(302, [['location', '/to']])
          stream.end('moved')
        } else stream.respond('there')
      },
    })
    const dispatcher = toAgent({})
    for (let i = 0; i < 3; i++) await (await fetch(`${peer.origin}/from`, { dispatcher })).text()
    expect(peer.requests.map(({ resetCode }) => resetCode)).toEqual(Array(6).fill(null))
    expect(peer.connections).toHaveLength(1)
  })

  it('ends all requests of a chain when its caller aborts', async () => {
    const peer = await startPeer({
      onRequest: (stream) => {
        const count = Number(stream.path.slice(1))
        if (count === 3) return
        stream.head(302, [['location', `/${count + 1}`]])
        stream.data('more will come')
      },
    })
    const controller = new AbortController()
    const { signal } = controller
    const call = fetch(`${peer.origin}/0`, { dispatcher: toAgent({}), signal })
    await peer.waitFor(() => peer.requests.length === 4)
    const reason = new Error('enough')
    controller.abort(reason)
    await expect(call).rejects.toBe(reason)
    await peer.waitFor(() => peer.requests.every(({ resetCode }) => resetCode !== null))
  })

  it('resets the stream of a redirect when the target fails', async () => {
    const peer = await startPeer({
      onRequest: (stream) => {
        if (stream.path === '/to') return stream.reset(INTERNAL_ERROR)
        stream.head(302, [['location', '/to']])
        stream.data('more will come')
      },
    })
    const call = fetch(`${peer.origin}/from`, { dispatcher: toAgent({}) })
    expect(await toFailure(call)).toMatch(/^TypeError: fetch failed ← /)
    await peer.waitFor(() => peer.request('/from').resetCode !== null)
  })
})

describe('when a redirect leads to a blocked port', () => {
  it('fails, and resets the stream of the redirect', async () => {
    const peer = await startPeer({
      onRequest: (stream) => {
        stream.head(302, [['location', 'http://localhost:22/']])
        stream.data('more will come')
      },
    })
    const call = fetch(`${peer.origin}/from`, { dispatcher: toAgent({}) })
    expect(await toFailure(call)).toBe('TypeError: fetch failed ← bad port')
    await peer.waitFor(() => peer.request('/from').resetCode !== null)
  })
})

describe('when a chain leads over both protocols', () => {
  it('follows from HTTP/2 to HTTP/1.1 and back, with the body', async () => {
    const moves: Record<string, string> = {}
    const toReply = ({ path }: { readonly path: string }) => {
      const location = moves[path]
      return location === undefined ? { reason: 'There' } : { status: 307, fields: { location } }
    }
    const http2 = await startOrigin('HTTP/2', toReply)
    const http1 = await startOrigin('HTTP/1.1', toReply)
    Object.assign(moves, { '/1': `${http1.origin}/2`, '/2': `${http2.origin}/3`, '/3': `${http1.origin}/4` })
    const form = new FormData()
    form.append('name', 'value')
    for (const body of ['text', new Uint8Array([1, 2]), new Blob(['blob']), form]) {
      const init = { method: 'POST', body, headers: { authorization: 'a' }, dispatcher: toMixedAgent(http2) }
      const response = await fetch(`${http2.origin}/1`, init)
      expect([response.url, response.statusText]).toEqual([`${http1.origin}/4`, 'There'])
      await response.text()
      const bodies = [...http2.seen.slice(-2), ...http1.seen.slice(-2)].map((seen) => seen.body)
      if (body !== form) expect(new Set(bodies).size).toBe(1)
      for (const sent of bodies) expect(sent).not.toBe('')
    }
    expect([http2.seen.length, http1.seen.length]).toEqual([8, 8])
  })

  it('leaves no connection behind', async () => {
    const target = await startOrigin('HTTP/1.1')
    const server = await startOrigin('HTTP/2', () => ({ status: 302, fields: { location: target.origin } }))
    const agent = toMixedAgent(server)
    for (let i = 0; i < 5; i++) await (await fetch(server.origin, { dispatcher: agent })).text()
    expect(server.connections).toBe(1)
    expect(target.connections).toBeLessThan(3)
    await agent.close()
    await expect.poll(() => [server.open, target.open], { interval: 5 }).toEqual([0, 0])
  })
})

describe('when a redirect leads from TLS to none', () => {
  it('sends its origin as referrer, and accepts the codings that are safe there', async () => {
    const { options, ca } = await toTlsPeer()
    const plain = await startOrigin('HTTP/2')
    const peer = await startPeer(
      {
        onComplete: (stream) => {
          stream.head(302, [['location', `${plain.origin}/to`]])
          stream.end()
        },
      },
      options,
    )
    const dispatcher = destroyWithTest(new Agent({ connect: { ca }, h2c: true }))
    const response = await fetch(`${peer.origin}/from`, { dispatcher, referrer: `${peer.origin}/page` })
    expect(await response.text()).toBe('/to')
    expect(peer.request('/from').field('referer')).toBe(`${peer.origin}/page`)
    expect(peer.request('/from').field('accept-encoding')).toContain('br')
    const seen = toLatest(plain)
    expect(toValues(seen, 'referer')).toEqual([`${peer.origin}/`])
    expect(toValues(seen, 'accept-encoding')).toEqual(['gzip, deflate'])
  })
})
