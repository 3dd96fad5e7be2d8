// Tests with a MockAgent.
import assert from 'node:assert/strict'
import {
  Agent,
  Dispatcher,
  errors,
  fetch,
  getGlobalDispatcher,
  MockAgent,
  MockCallHistoryLog,
  MockClient,
  MockPool,
  mockErrors,
  Response,
  request,
  setGlobalDispatcher,
} from 'undici'

const { ORIGIN, CA } = process.env
const before = getGlobalDispatcher()
const agent = new MockAgent({ enableCallHistory: true })
setGlobalDispatcher(agent)
console.log(getGlobalDispatcher() === agent, agent instanceof Dispatcher, agent instanceof MockAgent)
agent.disableNetConnect()
const pool = agent.get('http://bank.example')
console.log(pool instanceof MockPool, pool instanceof Dispatcher)

pool
  .intercept({ path: '/account?id=1', method: 'GET' })
  .reply(200, { balance: 10 }, { headers: { 'x-a': 'b' } })
const account = await request('http://bank.example/account', { query: { id: 1 } })
console.log(account.statusCode, account.headers['x-a'], await account.body.json())

pool
  .intercept({ path: '/transfer', method: 'POST', body: (text) => text.includes('10') })
  .reply(({ body }) => ({
    statusCode: 201,
    data: body.toUpperCase(),
  }))
const transfer = await fetch('http://bank.example/transfer', { method: 'POST', body: 'pay 10' })
console.log(transfer.status, await transfer.text(), transfer instanceof Response)

pool.intercept({ path: '/built-in' }).reply(200, 'by global fetch')
console.log(await (await globalThis.fetch('http://bank.example/built-in')).text())

pool.intercept({ path: '/broken' }).replyWithError(new Error('no money'))
console.log((await request('http://bank.example/broken').catch((error) => error)).message)

const unmatched = await request('http://bank.example/nothing').catch((error) => error)
console.log(
  unmatched.code,
  unmatched instanceof mockErrors.MockNotMatchedError,
  unmatched instanceof errors.UndiciError,
)
assert.throws(() => {
  pool.intercept({ path: '/unused' }).reply(200)
  agent.assertNoPendingInterceptors()
}, /pending/)

const log = agent.getCallHistory().firstCall()
console.log(log instanceof MockCallHistoryLog, log.method, log.path, log.searchParams)
console.log(agent.getCallHistory().calls().length)
await agent.close()

const single = new MockAgent({ connections: 1 })
const client = single.get('http://single.example')
console.log(client instanceof MockClient)
client.intercept({ path: '/', method: 'GET' }).reply(204).times(2)
console.log((await client.request({ path: '/', method: 'GET' })).statusCode)
await single.close()

// What isn't mocked goes through an agent of one's own.
const own = new MockAgent({ agent: new Agent({ connect: { ca: CA } }), connect: { ca: CA } })
own.get(ORIGIN).intercept({ path: '/mocked' }).reply(200, 'mocked')
const texts = []
for (const path of ['/mocked', '/echo?real']) {
  const { body } = await request(ORIGIN + path, { dispatcher: own })
  texts.push(await body.text())
}
console.log(texts)
await own.close()
setGlobalDispatcher(before)
console.log(getGlobalDispatcher() === before)
