import type { RequestListener } from 'node:http'
import { describe, expect, it } from 'vitest'
import { Agent, fetch } from '../../src/index.ts'
import type { DispatchOptions } from '../../types/index.ts'
import { destroyWithTest } from '../support/clients/agents.ts'
import { startHttp1 } from '../support/servers/fallback-http1.ts'

async function start(listener?: RequestListener) {
  const server = await startHttp1(listener, { tls: false })
  const agent = destroyWithTest(new Agent())
  return { server, agent, origin: server.origin }
}

describe('a field of a request over HTTP/1.1', () => {
  const NAMES = ['X-Trace-ID', 'x-lower', 'Cookie', 'Content-Type', 'SOAPAction', 'X-Twice', 'X-Twice']
  const raw = NAMES.flatMap((name, index) => [name, String(index)])
  const FORMS: readonly { readonly what: string; readonly headers: DispatchOptions['headers'] }[] = [
    { what: 'a flat list', headers: raw },
    {
      what: 'an object',
      headers: Object.fromEntries(
        NAMES.map((name, i) => [name, name === 'X-Twice' ? ['5', '6'] : String(i)]),
      ),
    },
    { what: 'pairs', headers: NAMES.map((name, i) => [name, String(i)] as const) },
  ]

  function toOwn(rawHeaders: readonly string[] = []): string[] {
    return rawHeaders.filter((_, i) => NAMES.includes(rawHeaders[i - (i % 2)] ?? ''))
  }

  it.each(FORMS)('keeps the case of its name, out of $what', async ({ headers }) => {
    const { server, agent, origin } = await start()
    const { body } = await agent.request({ origin, path: '/', method: 'POST', headers, body: 'text' })
    await body.dump()
    expect(toOwn(server.requests[0]?.rawHeaders).toSorted()).toEqual(raw.toSorted())
  })

  it("keeps the case of its name, out of fetch's", async () => {
    const { server, agent, origin } = await start()
    const own = { 'X-Trace-ID': '0', 'x-lower': '1', 'Content-Type': '3' }
    for (const headers of [own, Object.entries(own)]) {
      const init = { method: 'POST', headers, body: 'text', dispatcher: agent }
      await (await Reflect.apply(fetch, undefined, [origin, init])).text()
    }
    for (const { rawHeaders } of server.requests)
      expect(toOwn(rawHeaders).toSorted()).toEqual(Object.entries(own).flat().toSorted())
  })

  it('keeps the case after a redirect, without the fields that another origin must not get', async () => {
    const other = await startHttp1(undefined, { tls: false })
    const { agent, origin } = await start((_request, response) => {
      response.writeHead(302, { location: other.origin }).end()
    })
    const headers = { Authorization: 'secret', 'X-Trace-ID': '0' }
    await (await fetch(origin, { headers, dispatcher: agent })).text()
    const seen = other.requests[0]?.rawHeaders ?? []
    expect(toOwn(seen)).toEqual(['X-Trace-ID', '0'])
    expect(seen.join(' ').toLowerCase()).not.toContain('authorization')
  })
})
