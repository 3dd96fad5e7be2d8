import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { Agent, getGlobalDispatcher, request, setGlobalDispatcher } from '../../src/index.ts'
import type { Dispatcher } from '../../types/index.ts'
import { destroyWithTest } from '../support/clients/agents.ts'
import { send, startWebServer } from './interceptors-server.ts'
import type { Mock, ResponseScript, Undici } from './interceptors-undicis.ts'
import { UNDICIS } from './interceptors-undicis.ts'
import type { Way } from './interceptors-ways.ts'
import { BUILTIN_FETCH, PIPELINE, toCases, toReason, WAYS } from './interceptors-ways.ts'

/** A MockAgent without connections, which ends with the test. */
function startMock(undici: Undici): Mock {
  const mock = undici.toMock()
  mock.disableNetConnect()
  onTestFinished(() => mock.close())
  return mock
}

/** The mock takes handlers of its own undici's shape alone; the built-in fetch has that of the running Node's. */
const BUILTIN_MAJOR = Number.parseInt(process.versions.undici ?? '', 10)

function isUnderstood({ undici, way }: { undici: Undici; way: Way }): boolean {
  return way !== BUILTIN_FETCH || (undici.major === 8) === BUILTIN_MAJOR >= 8
}

/** The code under test: it knows of a dispatcher, and not of which. */
async function tell(
  way: Way,
  undici: Undici,
  dispatcher: Dispatcher,
  origin: string,
): Promise<ResponseScript> {
  const headers = { 'content-type': 'text/plain' }
  return way.ask(undici, dispatcher, `${origin}/tell?x=1`, { method: 'POST', headers, body: 'this' })
}

describe.each(toCases(UNDICIS, WAYS).filter(isUnderstood))('code that sends requests by $what, with $from', ({
  undici,
  way,
}) => {
  it('gets the same from a MockAgent as from a server by our Agent', async () => {
    const server = await startWebServer(({ body }, reply) =>
      send(reply, 201, { 'x-said': 'yes' }, `heard ${body}`),
    )
    const agent = destroyWithTest(new Agent({ connect: { ca: server.ca } }))
    const real = await tell(way, undici, agent, server.origin)

    const mock = startMock(undici)
    const asked = { path: '/tell?x=1', method: 'POST', body: 'this' }
    mock
      .get('https://mocked.test')
      .intercept(asked)
      .reply(201, 'heard this', { headers: { 'x-said': 'yes' } })
    const mocked = await tell(way, undici, mock, 'https://mocked.test')

    for (const { status, headers, text } of [real, mocked])
      expect([status, headers['x-said'], text]).toEqual([201, 'yes', 'heard this'])
    expect(server.exchanges.map(({ version }) => version)).toEqual(['2.0'])
    mock.assertNoPendingInterceptors()
  })

  it('gets an error of the mock', async () => {
    const mock = startMock(undici)
    const error = new Error('no such luck')
    mock.get('https://mocked.test').intercept({ path: '/', method: 'GET' }).replyWithError(error)
    expect(await toReason(way.ask(undici, mock, 'https://mocked.test/'))).toBe(error)
  })

  it('gets an error for a request that was not mocked', async () => {
    const mock = startMock(undici)
    const reason = await toReason(way.ask(undici, mock, 'https://mocked.test/'))
    expect(reason).toMatchObject({ code: 'UND_MOCK_ERR_MOCK_NOT_MATCHED' })
  })
})

describe.each(UNDICIS)('a MockAgent of $name', (undici) => {
  it('takes part in a pipeline', async () => {
    const mock = startMock(undici)
    mock.get('https://mocked.test').intercept({ path: '/', method: 'GET' }).reply(200, 'hello')
    expect((await PIPELINE.ask(undici, mock, 'https://mocked.test/')).text).toBe('hello')
  })

  it('gives raw headers to our request()', async () => {
    const mock = startMock(undici)
    const reply = { headers: { 'x-said': 'yes' } }
    mock.get('https://mocked.test').intercept({ path: '/', method: 'GET' }).reply(200, 'hello', reply)
    const { headers, body } = await request('https://mocked.test/', {
      dispatcher: mock,
      responseHeaders: 'raw',
    })
    expect(headers).toEqual(expect.arrayContaining(['x-said', 'yes']))
    expect(await body.text()).toBe('hello')
  })

  describe('as our global dispatcher', () => {
    let before: Dispatcher

    beforeEach(() => {
      before = getGlobalDispatcher()
    })

    afterEach(() => setGlobalDispatcher(before))

    it('serves calls without a dispatcher option', async () => {
      const mock = startMock(undici)
      mock.get('https://mocked.test').intercept({ path: '/', method: 'GET' }).reply(200, 'hello')
      setGlobalDispatcher(mock)
      const { statusCode, body } = await request('https://mocked.test/')
      expect([statusCode, await body.text()]).toEqual([200, 'hello'])
      mock.assertNoPendingInterceptors()
    })
  })
})
