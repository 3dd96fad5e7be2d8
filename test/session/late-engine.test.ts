import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { createFaultServer } from '../../src/testing/index.ts'
import { ENGINES } from '../support/clients/engines.ts'

type Dodici = typeof import('../../src/index.ts')

const FILES = {
  node: '../../src/session/node/node-engine.ts',
  wire: '../../src/session/wire/wire-engine.ts',
}

/** As in a new process: no engine is loaded. */
async function importAnew(): Promise<Dodici> {
  vi.resetModules()
  return await import('../../src/index.ts')
}

async function start() {
  const server = await createFaultServer({ h2c: true })
  onTestFinished(() => server.close())
  return server
}

describe.each(ENGINES)('the first session on engine %s', (engine) => {
  let dodici: Dodici

  beforeEach(async () => {
    dodici = await importAnew()
  })
  afterEach(() => {
    vi.doUnmock(FILES[engine])
  })

  it('serves the requests that have waited for the engine, and a second client', async () => {
    const server = await start()
    const client = new dodici.Client(server.origin, { engine })
    const paths = ['/a', '/b', '/c']
    const responses = await Promise.all(paths.map((path) => client.request({ path, method: 'GET' })))
    const texts = await Promise.all(responses.map(({ body }) => body.text()))
    expect(texts).toEqual(paths.map((path) => `GET ${path}`))
    expect(server.connections).toHaveLength(1)
    const second = new dodici.Client(server.origin, { engine })
    const { body } = await second.request({ path: '/d', method: 'GET' })
    expect(await body.text()).toBe('GET /d')
    await Promise.all([client.close(), second.close()])
  })

  it('is not dialled when its client is destroyed while the engine is loaded', async () => {
    const server = await start()
    const client = new dodici.Client(server.origin, { engine })
    const response = client.request({ path: '/', method: 'GET' })
    await Promise.all([
      expect(response).rejects.toMatchObject({ code: 'UND_ERR_DESTROYED', processed: 'no', attempts: 0 }),
      client.destroy(),
    ])
    // The next client connects: by then the first one would have, too.
    const next = new dodici.Client(server.origin, { engine })
    await (await next.request({ path: '/next', method: 'GET' })).body.dump()
    await next.close()
    expect(server.connections).toHaveLength(1)
    expect(server.requests.map(({ path }) => path)).toEqual(['/next'])
  })

  it('serves what was asked before close()', async () => {
    const server = await start()
    const client = new dodici.Client(server.origin, { engine })
    const response = client.request({ path: '/asked', method: 'GET' })
    const closed = client.close()
    expect(await (await response).body.text()).toBe('GET /asked')
    await closed
  })

  it('does not send what was aborted while the engine is loaded', async () => {
    const server = await start()
    const client = new dodici.Client(server.origin, { engine })
    const controller = new AbortController()
    const aborted = client.request({ path: '/aborted', method: 'GET', signal: controller.signal })
    controller.abort()
    await expect(aborted).rejects.toThrow('aborted')
    const { body } = await client.request({ path: '/next', method: 'GET' })
    expect(await body.text()).toBe('GET /next')
    await client.close()
    expect(server.requests.map(({ path }) => path)).toEqual(['/next'])
  })

  it('fails its calls, and says why, when the engine cannot be loaded', async () => {
    const server = await start()
    vi.doMock(FILES[engine], () => {
      throw new Error('no such file')
    })
    const client = new dodici.Client(server.origin, { engine })
    const message = `Engine '${engine}' can't be loaded`
    await expect(client.request({ path: '/', method: 'GET' })).rejects.toMatchObject({
      message: expect.stringContaining(message),
      processed: 'no',
    })
    await client.close()
    expect(server.connections).toHaveLength(0)
  })
})
