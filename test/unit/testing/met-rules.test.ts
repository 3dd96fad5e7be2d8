/** A test over a fault server can't be green because a rule never ran. */

import { describe, expect, it } from 'vitest'
import type { FaultServerOptions } from '../../../src/testing/index.ts'
import { createFaultServer, frames, presets } from '../../../src/testing/index.ts'
import { RawClient, start } from './rig.ts'

describe('assertAllRulesMet()', () => {
  it('names each rule that has never run, and what came', async () => {
    const server = await start()
    const isSeven = (): boolean => false
    server.onRequest('/met', (stream) => stream.respond('met'))
    server.onRequest('POST /unmet', () => {})
    server.onRequest(/unmet/, () => {})
    server.onRequest(isSeven, () => {})
    server.refuse(2, '/twice')
    server.onConnection(1, () => {})
    server.onSocket(7, () => {})
    const client = await RawClient.open(server)
    client.ask(1, 'GET /met')
    client.ask(3, 'GET /twice')
    await client.response(1)
    await server.waitFor('/twice')
    expect(() => server.assertAllRulesMet()).toThrow(
      new Error(
        "Rules that haven't run: onSocket(7), onConnection(1), onRequest('POST /unmet'), onRequest(/unmet/), " +
          "onRequest(a function isSeven), onRequest('/twice') (1 of 2 times). " +
          'Last requests: 0/1 GET /met, 0/3 GET /twice',
      ),
    )
  })

  it('says nothing when all have run, of rules that were cleared, and of presets', async () => {
    const server = await start()
    server.onRequest('/gone', () => {})
    server.clear()
    for (const preset of Object.values(presets)) server.use(preset())
    server.onConnection('*', () => {})
    server.onRequest('/a', (stream) => stream.respond('a'), { times: 1 })
    const client = await RawClient.open(server)
    client.ask(1, 'GET /a')
    await server.waitFor('/a')
    expect(() => server.assertAllRulesMet()).not.toThrow()
  })

  it('a request that never becomes whole has not run its rule', async () => {
    const server = await start()
    server.onRequest('/a', () => {})
    const client = await RawClient.open(server)
    client.ask(1, 'POST /a')
    await server.waitFor(() => server.requests.length === 1)
    client.write(frames.frame(3, 0, 1, Buffer.of(0, 0, 0, 8)))
    await server.waitFor(() => server.requests[0]?.resetCode != null)
    expect(() => server.assertAllRulesMet()).toThrow("onRequest('/a')")
  })
})

describe('expectsAllRules', () => {
  it.each<[FaultServerOptions['expectsAllRules'], boolean]>([
    [true, true],
    [false, false],
    [undefined, false],
  ])('%s › close() rejects: %s', async (expectsAllRules, rejects) => {
    const server = await createFaultServer({
      h2c: true,
      ...(expectsAllRules === undefined ? {} : { expectsAllRules }),
    })
    server.onRequest('/never', () => {})
    const outcome = await server.close().then(() => null, String)
    expect(outcome).toEqual(rejects ? expect.stringContaining("haven't run: onRequest('/never')") : null)
    // A hook that closes it again isn't told twice.
    await server.close()
  })

  it('the error of a script comes first', async () => {
    const server = await createFaultServer({ h2c: true, expectsAllRules: true })
    server.onRequest('/never', () => {})
    server.onConnection('*', () => {
      throw new Error('of a script')
    })
    const client = await RawClient.open(server)
    await client.until(() => client.frames.length > 0)
    await expect(server.close()).rejects.toThrow('of a script')
  })
})

describe('what no rule can be', () => {
  it.each([0, -1, Number.NaN, 1.5, '2', null])('times: %s › is refused', async (times) => {
    const server = await start()
    const options = { times: times as number }
    expect(() => server.onRequest('/', () => {}, options)).toThrow(`not ${times}`)
    expect(() => server.refuse(times as number)).toThrow(TypeError)
  })

  it.each([
    [{ 'x-a': undefined as never }],
    [{ 'x-a': ['1', undefined as never] }],
    [{ 'x-a': null as never }],
    [[['x-a', undefined as never] as const]],
  ])('a field without a value: %j › is an error of its script', async (headers) => {
    const server = await createFaultServer({ h2c: true })
    server.onRequest('/', (stream) => stream.respond({ headers }))
    const client = await RawClient.open(server)
    client.ask(1, 'GET /')
    await expect(server.waitFor(() => false)).rejects.toThrow(/^The header field 'x-a' is (undefined|null)/)
    await server.close()
  })
})

describe('clearRecords()', () => {
  it('forgets what came, and counts anew', async () => {
    const server = await start()
    server.onRequest(0, (stream) => stream.respond('first'))
    const client = await RawClient.open(server)
    client.ask(1, 'GET /a')
    expect(await client.response(1)).toBe('200 first')
    server.clearRecords()
    expect([server.requests, server.frames, server.counts, server.ledger]).toEqual([[], [], {}, []])
    expect(server.connections.map(({ frames, maxOpen }) => [frames.length, maxOpen])).toEqual([[0, 0]])
    client.ask(3, 'GET /a')
    expect(await client.response(3)).toBe('200 first')
    expect([server.counts, server.ledger]).toEqual([{ 'GET /a': 1 }, ['0/3 GET /a']])
  })
})
