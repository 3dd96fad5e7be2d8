/** `http:` origins of a Client and a Pool: HTTP/2 by prior knowledge, or HTTP/1.1 if the option h2c says so. */

import { createServer } from 'node:http'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { PoolOptions } from '../../src/index.ts'
import { Client, errors, Pool } from '../../src/index.ts'
import { SERVE, startPeer } from '../support/peers/peer-rig.ts'
import { listen } from '../support/servers/listen.ts'

async function startHttp1(): Promise<string> {
  const server = createServer((request, response) => response.end(request.httpVersion))
  return `http://127.0.0.1:${(await listen(server)).port}`
}

describe.each([
  ['Client', (origin: string, options: PoolOptions) => new Client(origin, options)],
  ['Pool', (origin: string, options: PoolOptions) => new Pool(origin, options)],
])('a %s of an http: origin', (_name, make) => {
  it.each([false, () => false])('speaks HTTP/1.1 with h2c: %s', async (h2c) => {
    const client = make(await startHttp1(), { h2c })
    onTestFinished(() => client.destroy())
    const { body } = await client.request({ path: '/', method: 'GET' })
    expect(await body.text()).toBe('1.1')
    expect(client.stats).toMatchObject({ pending: 0, running: 0 })
  })

  it.each([undefined, null, true, () => true])('speaks HTTP/2 with h2c: %s', async (h2c) => {
    const { origin } = await startPeer(SERVE)
    const client = make(origin, { h2c, fallback: null })
    onTestFinished(() => client.destroy())
    const { body, statusCode } = await client.request({ path: '/', method: 'GET' })
    await body.dump()
    expect(statusCode).toBe(200)
  })

  it('asks a function about its origin', () => {
    const asked: string[] = []
    const h2c = ({ href }: URL) => asked.push(href) > 0
    void make('http://localhost:1', { h2c }).destroy()
    expect(asked).toEqual(['http://localhost:1/'])
  })

  it('refuses h2c: false without a fallback, and what is no boolean', () => {
    expect(() => make('http://localhost:1', { h2c: false, fallback: null })).toThrow(
      'Invalid h2c: got false, expected true: HTTP/1.1 needs a fallback, but the fallback option is null',
    )
    const wrong: object = { h2c: 'yes' }
    expect(() => make('http://localhost:1', wrong)).toThrow(errors.InvalidArgumentError)
    void make('https://localhost:1', { h2c: false, fallback: null }).destroy()
  })
})
