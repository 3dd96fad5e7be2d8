/**
 * A proxy and its origins in one network, and a client in another, whose only route is the one to the proxy. The client prints how
 * each request went. `only-proxy.mjs ENGINE KEY CERT`; it starts itself once more, for the client.
 */

import { spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer, request as sendPlain } from 'node:http'
import { createSecureServer } from 'node:http2'
import { createServer as createHttps } from 'node:https'
import type { AddressInfo, Server, Socket } from 'node:net'
import { connect } from 'node:net'
import { Agent, fetch, install, ProxyAgent, request, uninstall } from '../../../src/index.ts'

/** Where the origins are. The client has no route there, and their name is known to the proxy alone. */
const ORIGINS = '10.8.0.1'
const NAME = 'origin.test'
/** Where the proxy is. */
const PROXY = '10.9.0.1'

const [, , engine = '', key = '', cert = '', ports = ''] = process.argv

async function listen(server: Server, host: string): Promise<number> {
  server.listen(0, host)
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

async function startOrigins(): Promise<number[]> {
  const http2 = createSecureServer({ key, cert }, (request, response) => {
    if (request.url !== '/redirect') {
      response.end(`over ${request.httpVersion}`)
      return
    }
    response.writeHead(302, { location: `https://${NAME}:${http1Port}/` })
    response.end()
  })
  const http1 = createHttps({ key, cert }, (request, response) => response.end(`over ${request.httpVersion}`))
  http1.on('upgrade', (request, socket: Socket) => {
    const id = `${request.headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`
    const accept = createHash('sha1').update(id).digest('base64')
    const fields = `connection: upgrade\r\nupgrade: websocket\r\nsec-websocket-accept: ${accept}`
    // A text message (RFC 6455 §5.6).
    socket.write(`HTTP/1.1 101 Switching Protocols\r\n${fields}\r\n\r\n`)
    socket.write(Buffer.from([0x81, 5, ...Buffer.from('hello')]))
  })
  const plain = createServer((request, response) => response.end(`over ${request.httpVersion}`))
  const http1Port = await listen(http1, ORIGINS)
  return [await listen(http2 as unknown as Server, ORIGINS), http1Port, await listen(plain, ORIGINS)]
}

/** The proxy knows the name. */
async function startProxy(): Promise<number> {
  const toHost = (name: string): string => (name === NAME ? ORIGINS : name)
  const proxy = createServer((request, response) => {
    const { hostname, port, pathname } = new URL(request.url ?? '')
    const options = { host: toHost(hostname), port, path: pathname, headers: request.headers }
    sendPlain(options, (inner) => {
      response.writeHead(inner.statusCode ?? 502)
      inner.pipe(response)
    }).end()
  })
  proxy.on('connect', (request, socket: Socket) => {
    const { hostname, port } = new URL(`http://${request.url}`)
    const target = connect(Number(port), toHost(hostname), () => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n')
      socket.pipe(target).pipe(socket)
    })
    target.on('error', () => socket.destroy())
    socket.on('error', () => target.destroy())
  })
  return listen(proxy, PROXY)
}

async function serve(): Promise<void> {
  const all = [await startProxy(), ...(await startOrigins())]
  const script = `read start
    ip link set lo up
    ip addr add 10.9.0.2/32 dev v1
    ip link set v1 up
    ip route add ${PROXY}/32 dev v1
    exec "$@"`
  const again = [process.execPath, '--no-warnings', process.argv[1] ?? '', engine, key, cert, all.join()]
  const url = `http://${PROXY}:${all[0]}`
  const client = spawn('unshare', ['-n', 'sh', '-e', '-c', script, 'sh', ...again], {
    stdio: ['pipe', 'inherit', 'inherit'],
    env: { ...process.env, NODE_USE_ENV_PROXY: '1', HTTPS_PROXY: url, HTTP_PROXY: url },
  })
  // Its network is there once it has a namespace of its own.
  const move = (): number | null =>
    spawnSync('ip', ['link', 'set', 'v1', 'netns', `${client.pid}`], { stdio: 'ignore' }).status
  const inOwn = (): string =>
    spawnSync('readlink', [`/proc/${client.pid}/ns/net`], { encoding: 'utf8' }).stdout
  const here = spawnSync('readlink', ['/proc/self/ns/net'], { encoding: 'utf8' }).stdout
  while (inOwn() === here) await new Promise((resolve) => setImmediate(resolve))
  if (move() !== 0) throw new Error('The link could not be moved')
  client.stdin.end('start\n')
  const [code] = await once(client, 'close')
  process.exit(code)
}

async function play(name: string, send: () => Promise<string>): Promise<void> {
  const said = await send().catch((error: Error & { code?: string; cause?: { code?: string } }) => {
    const code = error.code?.startsWith('E') === true ? error.code : error.cause?.code
    return `failed with ${code ?? error.message}`
  })
  console.log(`${name}: ${said}`)
}

async function ask(): Promise<void> {
  const [proxyPort, http2, http1, plain] = ports.split(',')
  const secure = `https://${NAME}:${http2}/`
  const old = `https://${NAME}:${http1}/`
  // The test's certificate is for localhost: what is tested is the way.
  const requestTls = { rejectUnauthorized: false }
  const agent = new ProxyAgent({ uri: `http://${PROXY}:${proxyPort}`, requestTls, engine: engine as 'wire' })
  const options = { dispatcher: agent }
  const byRequest = async (url: string, more: object = options): Promise<string> =>
    (await request(url, more)).body.text()
  await play('request()', () => byRequest(secure))
  await play('the fallback', () => byRequest(old))
  await play('absolute form', () => byRequest(`http://${NAME}:${plain}/`))
  await play('fetch()', async () => (await fetch(secure, options)).text())
  await play('a redirect', async () => (await fetch(`${secure}redirect`, options)).text())
  install(agent)
  await play('built-in fetch', async () => (await globalThis.fetch(secure)).text())
  await play('a redirect of built-in fetch', async () => (await globalThis.fetch(`${secure}redirect`)).text())
  if (globalThis.WebSocket !== undefined) await play('WebSocket', () => listenTo(old.replace('https', 'wss')))
  uninstall()
  await agent.close()
  process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0'
  await play('request() by the environment', () => byRequest(secure, {}))
  const direct = new Agent({ engine: engine as 'wire', connect: requestTls })
  await play('an Agent', () => byRequest(`https://${ORIGINS}:${http2}/`, { dispatcher: direct }))
  process.exit(0)
}

function listenTo(url: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(url)
    socket.addEventListener('message', ({ data }) => {
      socket.close()
      resolve(String(data))
    })
    socket.addEventListener('error', () => reject(new Error('no WebSocket')))
  })
}

await (ports === '' ? serve() : ask())
