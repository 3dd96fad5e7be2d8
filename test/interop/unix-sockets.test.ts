import { once } from 'node:events'
import { rm } from 'node:fs/promises'
import { createServer } from 'node:http2'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { Agent, Client, errors } from '../../src/index.ts'
import type { ClientOptions } from '../../types/index.ts'
import { destroyWithTest } from '../support/clients/agents.ts'
import { ENGINES } from '../support/clients/engines.ts'
import { lacksNginx, startNginx } from '../support/servers/nginx.ts'
import { startServer, toCertificate } from '../support/servers/server.ts'
import { makeFolder } from '../support/servers/server-process.ts'

const GET = { path: '/', method: 'GET' } as const

async function toPath(): Promise<string> {
  return join(await makeFolder('unix'), 'socket')
}

function toClient(origin: string, options: ClientOptions): Client {
  const client = destroyWithTest(new Client(origin, options))
  return client
}

async function ask(origin: string, options: ClientOptions): Promise<string> {
  const { body } = await toClient(origin, options).request(GET)
  return body.text()
}

const fail = (origin: string, options: ClientOptions): Promise<unknown> =>
  ask(origin, options).catch((error: unknown) => error)

describe.skipIf(lacksNginx).each(ENGINES)('a Unix socket of nginx, with engine %s', (engine) => {
  /** It listens there besides, and says by which protocol and for which host it was asked. */
  async function start(listen: string, tls: boolean): Promise<{ socketPath: string; ca: string }> {
    const socketPath = await toPath()
    const { ca } = await startNginx({
      tls,
      server: `listen unix:${socketPath}${listen};
        location / { return 200 "$server_protocol $host [$ssl_server_name]"; }`,
    })
    return { socketPath, ca }
  }

  it('is spoken to in HTTP/2 by prior knowledge', async () => {
    const { socketPath } = await start(' http2', false)
    expect(await ask('http://backend.test', { engine, socketPath })).toBe('HTTP/2.0 backend.test []')
  })

  it("with TLS › gets the name of the origin's host, and has to have its certificate", async () => {
    const { socketPath, ca } = await start(' ssl http2', true)
    const options = { engine, socketPath, connect: { ca } }
    expect(await ask('https://localhost', options)).toBe('HTTP/2.0 localhost [localhost]')
    expect(await fail('https://backend.test', options)).toMatchObject({
      code: 'ERR_TLS_CERT_ALTNAME_INVALID',
    })
    const named = { ...options, connect: { ca, servername: 'localhost' } }
    expect(await ask('https://backend.test', named)).toBe('HTTP/2.0 backend.test [localhost]')
  })

  it('with TLS, when the server speaks HTTP/1.1 alone › the fallback uses the same path', async () => {
    const { socketPath, ca } = await start(' ssl', true)
    const said = await ask('https://localhost', { engine, socketPath, connect: { ca } })
    // Where the TCP socket of this server has HTTP/2, some versions of nginx have it on all sockets.
    expect(said).toMatch(/^HTTP\/(1\.1|2\.0) localhost \[localhost\]$/)
  })

  it('of an Agent › is that of all of its origins', async () => {
    const { socketPath } = await start(' http2', false)
    const agent = destroyWithTest(new Agent({ engine, socketPath, h2c: true }))
    for (const host of ['one.test', 'two.test']) {
      const { body } = await agent.request({ ...GET, origin: `http://${host}` })
      expect(await body.text()).toBe(`HTTP/2.0 ${host} []`)
    }
  })
})

describe.each(ENGINES)('a Unix socket, with engine %s', (engine) => {
  it.each([
    false,
    true,
  ])('when its server is restarted, with TLS: %s › serves the next request', async (tls) => {
    const socketPath = await toPath()
    const { cert: ca } = await toCertificate()
    const client = toClient(tls ? 'https://localhost' : 'http://localhost', {
      ...{ engine, socketPath, connect: { ca } },
    })
    for (const round of ['first', 'second']) {
      const { server, sessions } = await startServer((stream) => stream.end(round), { tls, path: socketPath })
      const { body } = await client.request(GET)
      expect(await body.text()).toBe(round)
      const gone = once(client, 'disconnect')
      for (const session of sessions) session.destroy()
      await gone
      await new Promise((resolve) => server.close(resolve))
    }
    expect(await fail('http://localhost', { engine, socketPath })).toMatchObject({ code: 'ENOENT' })
  })

  it('that is not there › fails with an error that names the path', async () => {
    const socketPath = await toPath()
    const error = await fail('http://localhost', { engine, socketPath })
    expect(error).toBeInstanceOf(errors.ConnectError)
    expect(error).toMatchObject({
      message: `Could not connect to http://localhost: connect ENOENT ${socketPath}`,
      processed: 'no',
    })
  })

  it('that no server listens on any more › is refused, with an error that names the path', async () => {
    const socketPath = await toPath()
    onTestFinished(() => rm(socketPath, { force: true }))
    // A file in its place: what a killed server leaves behind refuses in the same way.
    const { writeFile } = await import('node:fs/promises')
    await writeFile(socketPath, '')
    expect(await fail('http://localhost', { engine, socketPath })).toMatchObject({
      code: 'ECONNREFUSED',
      message: `Could not connect to http://localhost: connect ECONNREFUSED ${socketPath}`,
    })
  })

  it.runIf(process.platform === 'linux')('with an abstract name › is connected to', async () => {
    const socketPath = `\0dodici-${process.pid}-${engine}`
    const server = createServer().on('stream', (stream) => stream.end('abstract'))
    const sessions: { destroy(): void }[] = []
    server.on('session', (session) => sessions.push(session))
    server.listen(socketPath)
    await once(server, 'listening')
    onTestFinished(() => {
      for (const session of sessions) session.destroy()
      server.close()
    })
    expect(await ask('http://localhost', { engine, socketPath })).toBe('abstract')
  })
})

describe('a path for a Unix socket', () => {
  it('that the system has no room for › is refused, with its length', () => {
    // Node 20 and 22 would cut it off.
    const socketPath = `/tmp/${'ü'.repeat(600)}`
    expect(() => new Client('http://localhost', { socketPath })).toThrow(
      /^Invalid socketPath: .* of at most \d+ bytes: this one has 1205$/,
    )
  })

  it('with a NUL within › is refused', () => {
    // Node 20 would connect to /tmp/a.
    expect(() => new Client('http://localhost', { socketPath: '/tmp/a\0b' })).toThrow(
      'a path without NUL bytes',
    )
  })
})
