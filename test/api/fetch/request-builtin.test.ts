import { describe, expect, it } from 'vitest'
import { fetch } from '../../../src/index.ts'
import type { FallbackDispatcher } from '../../../types/client.ts'
import { startOrigin, toFailure, toLatest, toValues } from './request-rig.ts'

/** Node makes it on first use. */
function toBuiltin(): FallbackDispatcher {
  void globalThis.Response
  return Reflect.get(globalThis, Symbol.for('undici.globalDispatcher.1'))
}

describe("when the dispatcher of Node's own fetch is named", () => {
  it('uses it, over HTTP/1.1', async () => {
    const server = await startOrigin('HTTP/1.1', () => ({ reason: 'Fine', fields: { 'x-a': ['1', '2'] } }))
    const dispatcher = toBuiltin()
    const init = { method: 'POST', body: 'body', headers: { 'X-A': 'ü' }, dispatcher }
    const response = await fetch(`${server.origin}/path?query`, init)
    expect([response.status, response.statusText, response.headers.get('x-a')]).toEqual([200, 'Fine', '1, 2'])
    expect(await response.text()).toBe('/path?query')
    const seen = toLatest(server)
    expect(seen).toMatchObject({ method: 'POST', body: 'body' })
    expect(toValues(seen, 'content-length')).toEqual(['4'])
  })

  it('sends it a stream', async () => {
    const server = await startOrigin('HTTP/1.1')
    const body = new Blob(['one', 'two']).stream()
    const init = { method: 'POST', body, duplex: 'half', dispatcher: toBuiltin() } as const
    await (await fetch(server.origin, init)).text()
    expect(toLatest(server).body).toBe('onetwo')
    expect(toValues(toLatest(server), 'transfer-encoding')).toEqual(['chunked'])
  })

  it('keeps its connection over redirects without a body', async () => {
    const server = await startOrigin('HTTP/1.1', ({ path }) => {
      const count = Number(path.slice(1))
      return count === 0 ? {} : { status: 302, fields: { location: `/${count - 1}` }, body: 'moved' }
    })
    const dispatcher = toBuiltin()
    for (let i = 0; i < 3; i++) {
      const response = await fetch(`${server.origin}/5`, { dispatcher })
      expect([response.redirected, await response.text()]).toEqual([true, '/0'])
    }
    expect(server.seen).toHaveLength(18)
    // A redirect is followed as soon as its header is there, maybe before the connection is free.
    expect(server.connections).toBeLessThan(6)
  })

  it('fails with its error', async () => {
    const server = await startOrigin('HTTP/2')
    expect(await toFailure(fetch(server.origin, { dispatcher: toBuiltin() }))).toMatch(
      /^TypeError: fetch failed ← /,
    )
  })
})
