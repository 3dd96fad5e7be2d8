/** undici's ProxyAgent over dispatchers of this entry: each program prints the same with undici's own. */

import { createServer, request as sendPlain } from 'node:http'
import { createSecureServer } from 'node:http2'
import { connect } from 'node:net'
import type { Duplex } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { listen } from '../../support/servers/listen.ts'
import { toCertificate } from '../../support/servers/server.ts'
import type { Version } from './rig.ts'
import { makeProject, PLAYED, run } from './rig.ts'

/** What makes the dispatchers of origins, or the client of the proxy. */
const FACTORIES = `
const FACTORIES = {
  'factory: a Pool': { factory: (origin, options) => new Pool(origin, options) },
  'factory: a Client': { factory: (origin, options) => new Client(origin, options) },
  'clientFactory: a Client': { clientFactory: (origin, options) => new Client(origin, options) },
  'clientFactory: a Pool': { clientFactory: (origin, options) => new Pool(origin, options) },
}`

/** A composed dispatcher forwards nothing in undici 6. */
const COMPOSED = `
FACTORIES['factory: a composed Pool'] = {
  factory: (origin, options) => new Pool(origin, options).compose((dispatch) => (asked, handler) => dispatch(asked, handler))
}`

const toProgram = (from: string, agent: string, factories: string) => `
import { ${agent}, Client, Pool, request } from '${from}'
const { PROXY, SECURE, PLAIN, CA: ca } = process.env
const where = { uri: PROXY, httpProxy: PROXY, httpsProxy: PROXY, noProxy: '' }
${factories}
for (const [name, factory] of Object.entries(FACTORIES)) for (const proxyTunnel of [undefined, true, false]) {
  const token = name + ', tunnel: ' + proxyTunnel
  const agent = new ${agent}({ ...where, token, proxyTunnel, requestTls: { ca }, ...factory })
  const texts = []
  for (const origin of [SECURE, PLAIN]) {
    const { statusCode, body } = await request(origin + '/x', { method: 'POST', body: 'this', dispatcher: agent })
    texts.push(statusCode, await body.text())
  }
  await agent.close()
  console.log(token, texts.join(' '), agent instanceof ${agent})
}`

interface Seen {
  readonly printed: string[]
  /** What the proxy was asked for, each once: an origin may be found out by a connection of its own. */
  readonly asked: string[]
}

async function play(program: string, version: Version): Promise<Seen> {
  const { private: key, cert } = await toCertificate()
  const asked = new Set<string>()
  const secure = await listen(
    createSecureServer({ key, cert, allowHTTP1: true }, (_request, response) => response.end('by TLS')),
  )
  const plain = await listen(createServer((_request, response) => response.end('plain')))
  const proxy = createServer((request, response) => {
    const { method, url = '', headers } = request
    asked.add(`${method} ${url.replace(/\d+/, 'PORT')} ${headers['proxy-authorization']}`)
    const next = sendPlain(url, { method, headers }, (from) => {
      response.writeHead(from.statusCode ?? 502, from.headers)
      from.pipe(response)
    })
    request.pipe(next)
  })
  proxy.on('connect', ({ url = '', headers }, socket: Duplex) => {
    asked.add(
      `CONNECT ${url.endsWith(`:${secure.port}`) ? 'secure' : 'plain'} ${headers['proxy-authorization']}`,
    )
    const target = connect(Number(url.split(':')[1]), '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n')
      socket.pipe(target).pipe(socket)
    })
    target.on('error', () => socket.destroy())
    socket.on('error', () => target.destroy())
  })
  const { port } = await listen(proxy)
  const { stdout, stderr } = await run(makeProject(version), program, {
    PROXY: `http://localhost:${port}`,
    SECURE: `https://localhost:${secure.port}`,
    PLAIN: `http://localhost:${plain.port}`,
    CA: cert,
  })
  expect(
    stderr.split('\n').filter((line) => !/^$|Warning: .*experimental|--trace-warnings/.test(line)),
  ).toEqual([])
  return { printed: stdout.trimEnd().split('\n'), asked: [...asked].sort() }
}

describe.each(PLAYED)('over %s', (version) => {
  it.each([
    'ProxyAgent',
    'EnvHttpProxyAgent',
  ])('%s does the same with dispatchers of this entry', async (agent) => {
    const factories = version === 'undici 6' ? FACTORIES : FACTORIES + COMPOSED
    const own = await play(toProgram('undici', agent, factories), version)
    expect(own.printed).toHaveLength(version === 'undici 6' ? 12 : 15)
    for (const line of own.printed) expect(line).toMatch(/ 200 by TLS 200 plain true$/)
    expect(await play(toProgram('dodici/undici', agent, factories), version)).toEqual(own)
  })
})
