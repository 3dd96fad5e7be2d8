import { describe, expect, it } from 'vitest'
import { Agent } from '../../src/index.ts'
import { destroyWithTest } from '../support/clients/agents.ts'
import type { Respond, WebServer } from './interceptors-server.ts'
import { send, startWebServer } from './interceptors-server.ts'
import type { Undici } from './interceptors-undicis.ts'
import { UNDICIS } from './interceptors-undicis.ts'
import type { Way } from './interceptors-ways.ts'
import { BUILTIN_FETCH, toCases, toReason, WAYS } from './interceptors-ways.ts'

const BUILTIN_MAJOR = Number.parseInt(process.versions.undici ?? '', 10)

/** A RetryAgent takes the handlers of its own undici: 6 the older shape, 8 the newer, 7 both. */
function isUnderstood({ undici, way }: { undici: Undici; way: Way }): boolean {
  if (way !== BUILTIN_FETCH || undici.major === 7) return true
  return (undici.major === 8) === BUILTIN_MAJOR >= 8
}

function wrapAgent(undici: Undici, { ca }: WebServer) {
  const agent = destroyWithTest(new Agent({ connect: { ca } }))
  return { agent, retrying: undici.toRetryAgent(agent, { minTimeout: 0, maxRetries: 2 }) }
}

function toBusy(count: number): Respond {
  let left = count
  return ({ body }, reply) => {
    if (left-- > 0) send(reply, 503, {}, 'busy')
    else send(reply, 200, { 'x-said': 'yes' }, `hello ${body}`)
  }
}

describe.each(toCases(UNDICIS, WAYS).filter(isUnderstood))('a RetryAgent of $from around ours, by $what', ({
  undici,
  way,
}) => {
  it.each(['h2', 'http/1.1'] as const)('retries a request after a 503, over %s', async (protocol) => {
    const server = await startWebServer(toBusy(2), protocol)
    const { retrying } = wrapAgent(undici, server)
    const { status, headers, text } = await way.ask(undici, retrying, server.origin)
    expect([status, headers['x-said'], text]).toEqual([200, 'yes', 'hello '])
    const version = protocol === 'h2' ? '2.0' : '1.1'
    expect(server.exchanges.map(({ version }) => version)).toEqual([version, version, version])
  })

  it('retries a request whose connection was lost', async () => {
    let isFirst = true
    const server = await startWebServer((_exchange, reply) => {
      if (isFirst) server.cut()
      else send(reply, 200, {}, 'hello')
      isFirst = false
    })
    const agent = destroyWithTest(new Agent({ connect: { ca: server.ca }, replaySafe: false }))
    const retrying = undici.toRetryAgent(agent, { minTimeout: 0 })
    expect((await way.ask(undici, retrying, server.origin)).text).toBe('hello')
    expect(server.exchanges).toHaveLength(2)
  })

  it('fails after its maximum of attempts', async () => {
    const server = await startWebServer(toBusy(9))
    const { retrying } = wrapAgent(undici, server)
    const reason = await toReason(way.ask(undici, retrying, server.origin))
    expect(reason).toMatchObject({ code: 'UND_ERR_REQ_RETRY', statusCode: 503 })
    expect(server.exchanges).toHaveLength(3)
  })
})

it.each(UNDICIS)('a RetryAgent of $name closes ours', async (undici) => {
  const server = await startWebServer(toBusy(0))
  const { agent, retrying } = wrapAgent(undici, server)
  await retrying.close()
  expect(agent.closed).toBe(true)
})
