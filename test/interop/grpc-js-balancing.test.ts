/**
 * Targets with several addresses: `pick_first` and `round_robin` over servers of which some are down, die, come back or
 * refuse calls; on grpc-js' own transport, and on Dodici's channels.
 */

import { once } from 'node:events'
import type { Http2Server, IncomingHttpHeaders, ServerHttp2Session, ServerHttp2Stream } from 'node:http2'
import { createSecureServer, createServer } from 'node:http2'
import type { Socket } from 'node:net'
import { createServer as createTcpServer } from 'node:net'
import * as grpc from '@grpc/grpc-js'
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { listenOnFree } from '../support/servers/free-port.ts'
import { toCertificate } from '../support/servers/server.ts'
import { OURS, TestClient, TRANSPORTS } from './grpc-js-rig.ts'

const lookup = vi.hoisted(() => vi.fn())
vi.mock('node:dns/promises', async (load) => ({ ...(await load<object>()), lookup }))

const { status, connectivityState: State } = grpc

beforeEach(() => {
  lookup.mockImplementation(async () => {
    throw Object.assign(new Error('getaddrinfo ENOTFOUND'), { code: 'ENOTFOUND' })
  })
})
afterEach(() => TestClient.closeAll())

type Handler = (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => void

/** A status without messages. */
function end(code: number): Handler {
  return (stream) => {
    const fields = { 'content-type': 'application/grpc', 'grpc-status': String(code) }
    stream.respond({ ':status': 200, ...fields }, { endStream: true })
  }
}

/** A code of the application's, by which a call is known to have reached a server. */
const REACHED = status.FAILED_PRECONDITION

/** A server that counts its calls, can die and come back. */
class Target {
  readonly #sessions = new Set<ServerHttp2Session>()
  readonly #server: Http2Server
  calls = 0
  port = 0

  private constructor(server: Http2Server, handle: Handler) {
    this.#server = server
    server.on('session', (session) => {
      this.#sessions.add(session)
      session.on('close', () => this.#sessions.delete(session))
      session.on('error', () => {})
    })
    server.on('stream', (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => {
      this.calls++
      stream.on('error', () => {})
      handle(stream, headers)
    })
    onTestFinished(() => this.die())
  }

  static async start(handle = end(REACHED), host = '127.0.0.1', port = 0): Promise<Target> {
    return new Target(createServer(), handle).comeBack(host, port)
  }

  static async startTls(key: string | Buffer, cert: string | Buffer): Promise<Target> {
    return new Target(createSecureServer({ key, cert }) as unknown as Http2Server, end(REACHED)).comeBack()
  }

  async comeBack(host = '127.0.0.1', port = this.port): Promise<this> {
    if (port !== 0) await once(this.#server.listen(port, host), 'listening')
    this.port = port === 0 ? await listenOnFree(this.#server, host) : port
    return this
  }

  get address(): string {
    return `127.0.0.1:${this.port}`
  }

  /** Connections that it has now. */
  get connections(): number {
    return this.#sessions.size
  }

  async die(): Promise<void> {
    if (!this.#server.listening) return
    this.#server.close()
    for (const session of this.#sessions) session.destroy()
    await once(this.#server, 'close')
  }
}

/** An address that accepts connections, and says nothing. */
async function startSilent(): Promise<{ readonly address: string }> {
  const sockets = new Set<Socket>()
  const server = createTcpServer((socket) => {
    sockets.add(socket.on('error', () => {}))
    socket.resume()
  })
  const port = await listenOnFree(server)
  onTestFinished(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  return { address: `127.0.0.1:${port}` }
}

function toConfig(policy: 'pick_first' | 'round_robin'): grpc.ChannelOptions {
  return {
    'grpc.service_config': JSON.stringify({ loadBalancingConfig: [{ [policy]: {} }] }),
    'grpc.initial_reconnect_backoff_ms': 100,
    'grpc.max_reconnect_backoff_ms': 200,
  }
}

function toTarget(...targets: readonly { readonly address: string }[]): string {
  return `ipv4:${targets.map(({ address }) => address).join(',')}`
}

/** The codes that some calls end with, one after the other. */
async function ask(client: TestClient, count: number): Promise<(number | undefined)[]> {
  const codes: (number | undefined)[] = []
  for (let left = count; left > 0; left--) {
    const { status: ended } = await client.unary('/a.B/C', 'x', undefined, { deadline: Date.now() + 20_000 })
    codes.push(ended.code)
  }
  return codes
}

const all = (count: number, code: number = REACHED): number[] => Array.from({ length: count }, () => code)

describe.each(TRANSPORTS)('round_robin › $name', (transport) => {
  const toClient = (target: string, options: grpc.ChannelOptions = {}): TestClient =>
    new TestClient(transport, target, undefined, { ...toConfig('round_robin'), ...options })

  it('sends calls to all addresses, in equal parts', async () => {
    const targets = [await Target.start(), await Target.start(), await Target.start()]
    const client = toClient(toTarget(...targets))
    await client.waitForReadyNow()
    await expect.poll(() => targets.map(({ connections }) => connections)).toEqual([1, 1, 1])
    expect(await ask(client, 60)).toEqual(all(60))
    for (const { calls } of targets) expect(calls).toBeGreaterThanOrEqual(10)
  })

  it('does without an address that refuses connections', async () => {
    const gone = await Target.start()
    await gone.die()
    const targets = [await Target.start(), await Target.start()]
    const client = toClient(toTarget(gone, ...targets))
    expect(await ask(client, 20)).toEqual(all(20))
    for (const { calls } of targets) expect(calls).toBeGreaterThan(0)
  })

  it('gives an address that accepts connections and is silent no calls', async () => {
    const targets = [await startSilent(), await Target.start(), await startSilent(), await Target.start()]
    const client = toClient(toTarget(...targets))
    expect(await Promise.all([ask(client, 10), ask(client, 10)])).toEqual([all(10), all(10)])
    for (const target of targets) if (target instanceof Target) expect(target.calls).toBeGreaterThan(0)
  }, 5_000)

  it('does without a server that dies, and goes back to it', async () => {
    const [first, second] = [await Target.start(), await Target.start()]
    const client = toClient(toTarget(first, second))
    await client.waitForReadyNow()
    await expect.poll(() => [first.connections, second.connections]).toEqual([1, 1])
    await first.die()
    await expect.poll(() => ask(client, 1)).toEqual(all(1))
    const before = second.calls
    expect(await ask(client, 20)).toEqual(all(20))
    expect(second.calls).toBe(before + 20)
    const seen = first.calls
    await first.comeBack()
    await expect.poll(async () => [await ask(client, 1), first.calls > seen]).toEqual([all(1), true])
  })

  it('leaves no server out for the statuses of its calls', async () => {
    const targets = [await Target.start(end(status.UNAVAILABLE)), await Target.start(end(status.INTERNAL))]
    const client = toClient(toTarget(...targets))
    await client.waitForReadyNow()
    await expect.poll(() => targets.map(({ connections }) => connections)).toEqual([1, 1])
    const codes = await ask(client, 40)
    for (const code of [status.UNAVAILABLE, status.INTERNAL])
      expect(codes.filter((one) => one === code).length).toBeGreaterThanOrEqual(10)
  })

  it('is UNAVAILABLE while all are down, and READY again with the first that is back', async () => {
    const targets = [await Target.start(), await Target.start()]
    const client = toClient(toTarget(...targets))
    await client.waitForReadyNow()
    for (const target of targets) await target.die()
    await expect.poll(() => client.getChannel().getConnectivityState(true)).toBe(State.TRANSIENT_FAILURE)
    expect(await ask(client, 1)).toEqual([status.UNAVAILABLE])
    await targets[1]?.comeBack()
    await client.waitForReadyNow()
    await expect.poll(() => ask(client, 1)).toEqual(all(1))
  })

  it('connects over TLS, by the name that an option gives', async () => {
    const { private: key, cert } = await toCertificate()
    const targets = [await Target.startTls(key, cert), await Target.startTls(key, cert)]
    const roots = grpc.credentials.createSsl(Buffer.from(cert))
    const client = new TestClient(transport, toTarget(...targets), roots, {
      ...toConfig('round_robin'),
      'grpc.ssl_target_name_override': 'localhost',
    })
    await client.waitForReadyNow()
    await expect.poll(() => targets.map(({ connections }) => connections)).toEqual([1, 1])
    expect(await ask(client, 20)).toEqual(all(20))
    for (const { calls } of targets) expect(calls).toBeGreaterThan(0)
  })

  it('ends running calls of a closed channel, and no connection is left', async () => {
    const targets = [await Target.start(), await Target.start()]
    const client = toClient(toTarget(...targets))
    await ask(client, 4)
    client.close()
    await expect.poll(() => targets.map(({ connections }) => connections)).toEqual([0, 0])
  })
})

describe.each(TRANSPORTS)('pick_first › $name', (transport) => {
  it('sends all calls to the first address that can be reached, and to the next when that dies', async () => {
    const gone = await Target.start()
    await gone.die()
    const [first, second] = [await Target.start(), await Target.start()]
    const client = new TestClient(transport, toTarget(gone, first, second), undefined, toConfig('pick_first'))
    expect(await ask(client, 5)).toEqual(all(5))
    expect([first.calls, second.calls]).toEqual([5, 0])
    await first.die()
    await expect.poll(() => ask(client, 1)).toEqual(all(1))
    expect(await ask(client, 5)).toEqual(all(5))
    expect(first.calls).toBe(5)
  })

  it('goes on from an address that accepts connections and is silent', async () => {
    const second = await Target.start()
    // Only Dodici has to wait for this time: grpc-js knows of no connection until SETTINGS have arrived.
    const factory = transport.toFactory({ pool: { connectTimeout: 300 } })
    const target = toTarget(await startSilent(), second)
    const client = new TestClient(transport, target, undefined, toConfig('pick_first'), factory)
    await expect.poll(() => ask(client, 1)).toEqual(all(1))
    expect(await ask(client, 5)).toEqual(all(5))
  }, 5_000)
})

describe.each(OURS)('round_robin, only of Dodici › $name', (transport) => {
  it('sends a call that a server refuses to another one', async () => {
    const refusing = await Target.start((stream) => stream.close(7))
    const other = await Target.start()
    const client = new TestClient(transport, toTarget(refusing, other), undefined, toConfig('round_robin'))
    await client.waitForReadyNow()
    await expect.poll(() => [refusing.connections, other.connections]).toEqual([1, 1])
    expect(await ask(client, 10)).toEqual(all(10))
    expect(refusing.calls).toBeGreaterThan(0)
  })

  it('leaves a server out that resets its streams, one call after the other', async () => {
    const resetting = await Target.start((stream) => stream.close(2))
    const other = await Target.start()
    const client = new TestClient(transport, toTarget(resetting, other), undefined, {
      ...toConfig('round_robin'),
      'grpc.initial_reconnect_backoff_ms': 60_000,
      'grpc.max_reconnect_backoff_ms': 60_000,
    })
    await client.waitForReadyNow()
    await ask(client, 30)
    expect(resetting.calls).toBe(5)
    expect(await ask(client, 10)).toEqual(all(10))
  })
})

describe.each(OURS)('round_robin over a name › $name', (transport) => {
  const toClient = (port: number): TestClient =>
    new TestClient(transport, `dns:///service.test:${port}`, undefined, toConfig('round_robin'))

  it('sends calls to all of its addresses, with the name as :authority', async () => {
    const authorities = new Set<string | undefined>()
    const answer: Handler = (stream, headers) => {
      authorities.add(headers[':authority'])
      end(REACHED)(stream, headers)
    }
    const one = await Target.start(answer)
    const two = await Target.start(answer, '127.0.0.2', one.port)
    lookup.mockResolvedValue([{ address: '127.0.0.1' }, { address: '127.0.0.2' }])
    const client = toClient(one.port)
    await client.waitForReadyNow()
    await expect.poll(() => [one.connections, two.connections]).toEqual([1, 1])
    expect(await ask(client, 20)).toEqual(all(20))
    expect(one.calls).toBeGreaterThan(0)
    expect(two.calls).toBeGreaterThan(0)
    expect([...authorities]).toEqual([`service.test:${one.port}`])
  })

  it('resolves it again when a connection ends', async () => {
    const one = await Target.start()
    const two = await Target.start(end(REACHED), '127.0.0.2', one.port)
    lookup.mockResolvedValue([{ address: '127.0.0.1' }])
    const client = toClient(one.port)
    expect(await ask(client, 3)).toEqual(all(3))
    expect([one.calls, two.calls]).toEqual([3, 0])
    lookup.mockResolvedValue([{ address: '127.0.0.2' }])
    await one.die()
    await expect.poll(() => ask(client, 1)).toEqual(all(1))
    expect(two.calls).toBe(1)
  })

  it('is UNAVAILABLE when it has no address', async () => {
    const client = toClient(1)
    const [code] = await ask(client, 1)
    expect(code).toBe(status.UNAVAILABLE)
    client.getChannel().getConnectivityState(true)
    await expect.poll(() => client.getChannel().getConnectivityState(false)).toBe(State.TRANSIENT_FAILURE)
  })
})
