/** What NODE_DEBUG=dodici writes in an incident: for each request that failed or was sent again it says why. */

import { describe, expect, it } from 'vitest'
import { bundle } from '../support/clients/bundled.ts'
import { runNodeIn } from '../support/clients/child.ts'
import { ENGINES } from '../support/clients/engines.ts'
import { startPeer } from '../support/peers/peer-rig.ts'
import { startHttp1 } from '../support/servers/fallback-http1.ts'
import { findFreePort } from '../support/servers/free-port.ts'
import { startTunnelProxy } from '../support/servers/tunnel-proxy.ts'
import type { Plan } from './children/incident.ts'

const toChild = bundle({ incident: new URL('children/incident.ts', import.meta.url) })

/** A server that refuses, drains, resets, and loses its connection. */
async function startIncident(): Promise<string> {
  const seen = new Set<string>()
  const peer = await startPeer({
    onComplete(stream, connection) {
      const path = stream.field(':path') ?? ''
      const isFirst = !seen.has(path)
      seen.add(path)
      if (path.startsWith('/refused') && isFirst) stream.refuse()
      else if (path.startsWith('/reset')) stream.reset('ENHANCE_YOUR_CALM')
      else if (path.startsWith('/misdirected') && isFirst) void stream.respond({ status: 421 })
      else if (path.startsWith('/lost')) connection.break()
      else if (path.startsWith('/drained') && isFirst)
        connection.goAway({ lastStreamId: stream.id - 2, code: 'NO_ERROR', debugData: 'deploy\n\u001b[31m7' })
      else void stream.respond('served')
    },
  })
  return peer.origin
}

/** What a child has logged, with the names of the origins in place of their ports. */
async function log(variable: string, plan: Plan, names: Record<string, string>): Promise<string[]> {
  const { stderr, stdout, code } = await runNodeIn(
    { NODE_DEBUG: variable },
    toChild('incident'),
    JSON.stringify(plan),
  )
  expect([code, stdout]).toEqual([0, ''])
  const text = Object.entries(names).reduce((rest, [name, origin]) => {
    const { port } = new URL(origin)
    return rest.replaceAll(origin, name).replaceAll(`port ${port}`, 'port N').replaceAll(`:${port}`, ':N')
  }, stderr)
  return text
    .trim()
    .split('\n')
    .map((line) => line.replace(/^DODICI(-[A-Z]+)? \d+: /, '').replace(/after \d+ ms/, 'after N ms'))
}

describe.each(ENGINES)('an incident on engine %s', (engine) => {
  it.each([
    'request',
    'built-in fetch',
  ] as const)('by %s › each line says what happened, and why', async (by) => {
    const h2 = await startIncident()
    const { origin: h1 } = await startHttp1()
    const nobody = `http://127.0.0.1:${await findFreePort()}`
    const paths = ['/refused?token=hidden', '/drained', '/misdirected', '/reset', '/']
    const asked = [
      ...paths.map((path) => ({ url: `${h2}${path}`, method: 'GET' as const })),
      { url: `${h2}/lost`, method: 'POST' as const },
      { url: `${h1}/x`, method: 'GET' as const },
      { url: `${nobody}/`, method: 'GET' as const },
    ]
    const plan = { engine, by, h2c: [h2, nobody], proxy: '', asked }
    const lines = await log('dodici', plan, { h2, h1, nobody })
    const of = (pattern: RegExp): string[] => lines.filter((line) => pattern.test(line))
    expect(lines.join('\n')).not.toContain('hidden')
    // One line an event, whatever the peer says.
    expect(lines.filter((line) => !/^(session|request|fallback) /.test(line))).toEqual([])
    expect(of(/^request \d+ GET h2\/refused/)).toEqual([
      expect.stringMatching(/refused\?…: queued$/),
      expect.stringMatching(/: sent on session 1, stream 1, h2c$/),
      expect.stringMatching(/: again, unprocessed, after attempt 1: \S+: .*REFUSED_STREAM/),
      expect.stringMatching(/: sent on session 1, stream 3, h2c, attempt 2$/),
      expect.stringMatching(/: status 200$/),
      expect.stringMatching(/: complete$/),
    ])
    const again = of(/: again, /).map((line) => line.replace(/^request \d+ /, ''))
    expect(again).toEqual([
      expect.stringMatching(/^GET h2\/refused\?…: again, unprocessed, /),
      expect.stringMatching(/^GET h2\/drained: again, unprocessed, after attempt 1: UND_ERR_SOCKET: /),
      expect.stringMatching(/^GET h2\/misdirected: again, misdirected, after attempt 1: status 421$/),
    ])
    const failed = of(/: failed, /).map((line) => line.replace(/^request \d+ /, ''))
    expect(failed).toEqual([
      expect.stringMatching(
        /^GET h2\/reset: failed, \S+: .*ENHANCE_YOUR_CALM.*, processed: maybe, attempts: 1$/,
      ),
      expect.stringMatching(/^POST h2\/lost: failed, UND_ERR_SOCKET: .*, processed: maybe, attempts: 1$/),
      expect.stringMatching(/^GET nobody\/: failed, ECONNREFUSED: .*, processed: no$/),
    ])
    expect(of(/^session 1 h2: /)).toEqual([
      'session 1 h2: connecting, cold',
      'session 1 h2: ready after N ms, to 127.0.0.1 port N, without TLS',
      expect.stringMatching(/^session 1 h2: SETTINGS/),
      'session 1 h2: GOAWAY NO_ERROR, last stream 3, "deploy\\n\\u001b[31m7"',
      'session 1 h2: draining, goaway',
      expect.stringMatching(/^session 1 h2: ended, goaway/),
    ])
    expect(of(/^session \d+ h2: (connecting|draining)/)).toEqual([
      'session 1 h2: connecting, cold',
      'session 1 h2: draining, goaway',
      'session 2 h2: connecting, replacement',
      'session 2 h2: draining, misdirected',
      expect.stringMatching(/^session 3 h2: connecting, /),
    ])
    expect(of(/^session 3 h2: ended/)).toEqual([expect.stringMatching(/^session 3 h2: ended, lost/)])
    expect(of(/ h1/)).toEqual([
      'session 1 h1: connecting, cold',
      expect.stringMatching(/^request \d+ GET h1\/x: queued$/),
      expect.stringMatching(/^session 1 h1: ended, unconnected: DODICI_ERR_ALPN: /),
      'fallback h1: HTTP/1.1, alpn',
      expect.stringMatching(/^request \d+ GET h1\/x: sent over http\/1.1$/),
      expect.stringMatching(/^request \d+ GET h1\/x: status 200$/),
      expect.stringMatching(/^request \d+ GET h1\/x: complete$/),
    ])
  })

  it('behind a proxy › says what the proxy has refused', async () => {
    const proxy = await startTunnelProxy('HTTP/1.1', ({ link }) => {
      link.end('HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n')
    })
    const asked = [{ url: 'https://origin.test/', method: 'GET' as const }]
    const plan = { engine, by: 'proxy' as const, h2c: [], proxy: proxy.uri, asked }
    const lines = await log('dodici', plan, { proxy: proxy.uri })
    expect(lines.filter((line) => /failed/.test(line))).toEqual([
      expect.stringMatching(/^request \d+ GET https:\/\/origin.test\/: failed, .*403.*, processed: no$/),
    ])
  })
})

describe('NODE_DEBUG=dodici-frame', () => {
  it('on engine wire › shows each frame as `dodici URL -v` does, without secrets', async () => {
    const h2 = await startIncident()
    const asked = [
      { url: `${h2}/reset?password=hidden`, method: 'GET' as const },
      { url: `${h2}/drained`, method: 'POST' as const },
    ]
    const lines = await log(
      'dodici-frame',
      { engine: 'wire', by: 'request', h2c: [h2], proxy: '', asked },
      { h2 },
    )
    expect(lines.filter((line) => !/^session [12] h2: [<>] /.test(line))).toEqual([])
    expect(lines.join('\n')).not.toContain('=hidden')
    expect(lines.join('\n')).not.toContain('Bearer')
    const of = (pattern: RegExp): string[] =>
      lines.filter((line) => pattern.test(line)).map((line) => line.replace(/\(\d+\.\d ms\)$/, '(N ms)'))
    const [first = ''] = of(/^session 1 h2: > SETTINGS/)
    expect(first).toMatch(/^session 1 h2: > SETTINGS \d+ bytes {2}\(N ms\)$/)
    expect(of(/^session 1 h2: < (RST_STREAM|GOAWAY)| {3}debug data/)).toEqual([
      'session 1 h2: < RST_STREAM stream 1 ENHANCE_YOUR_CALM 4 bytes  (N ms)',
      'session 1 h2: < GOAWAY last stream 1 NO_ERROR 21 bytes  (N ms)',
      'session 1 h2: <   debug data: deploy\\u000a\\u001b[31m7',
    ])
    expect(of(/> {3}(:path|authorization|cookie|:method): /).slice(0, 4)).toEqual([
      'session 1 h2: >   :method: GET',
      'session 1 h2: >   :path: /reset?…',
      'session 1 h2: >   authorization: (hidden)',
      'session 1 h2: >   cookie: (hidden)',
    ])
    expect(of(/> (HEADERS|DATA)/)).toEqual([
      expect.stringMatching(/^session 1 h2: > HEADERS stream 1 END_HEADERS END_STREAM \d+ bytes {2}/),
      expect.stringMatching(/^session 1 h2: > HEADERS stream 3 END_HEADERS \d+ bytes {2}/),
      'session 1 h2: > DATA stream 3 END_STREAM 6 bytes  (N ms)',
      expect.stringMatching(/^session 2 h2: > HEADERS stream 1 END_HEADERS \d+ bytes {2}/),
      'session 2 h2: > DATA stream 1 END_STREAM 6 bytes  (N ms)',
    ])
    expect(of(/^session 2 h2: < {3}:status/)).toEqual(['session 2 h2: <   :status: 200'])
  })

  it('on engine node › says what does', async () => {
    const h2 = await startIncident()
    const asked = [{ url: `${h2}/`, method: 'GET' as const }]
    const plan = { engine: 'node' as const, by: 'request' as const, h2c: [h2], proxy: '', asked }
    expect(await log('dodici-frame', plan, { h2 })).toEqual([
      'session 1 h2: engine node shows no frames: engine wire does, and Node by NODE_DEBUG=http2',
    ])
  })
})

describe('NODE_DEBUG', () => {
  it.each([
    ['dodici-session', ['session']],
    ['dodici-request', ['request']],
    ['dodici', ['request', 'session']],
    ['http2', []],
  ])('%s › writes its own lines alone', async (variable, kinds) => {
    const h2 = await startIncident()
    const asked = [{ url: `${h2}/`, method: 'GET' as const }]
    const lines = await log(variable, { engine: 'wire', by: 'request', h2c: [h2], proxy: '', asked }, { h2 })
    const found = new Set(lines.map((line) => line.split(' ', 1)[0] ?? '').filter((kind) => kind !== ''))
    expect([...found].sort()).toEqual(kinds)
  })
})
