// Interceptors of one's own, and those of the package.
import {
  Agent,
  Client,
  DecoratorHandler,
  Dispatcher,
  interceptors,
  RetryAgent,
  RetryHandler,
  request,
} from 'undici'

const { ORIGIN, CA } = process.env

class TimingHandler extends DecoratorHandler {
  #seen
  constructor(handler, seen) {
    super(handler)
    this.#seen = seen
  }
  onRequestStart(controller, context) {
    this.#seen.push('start')
    return super.onRequestStart(controller, context)
  }
  onResponseStart(controller, statusCode, headers, statusMessage) {
    this.#seen.push(statusCode)
    return super.onResponseStart(controller, statusCode, { ...headers, 'x-seen': 'yes' }, statusMessage)
  }
  onResponseData(controller, chunk) {
    this.#seen.push(chunk.length)
    return super.onResponseData(controller, chunk)
  }
  onResponseEnd(controller, trailers) {
    this.#seen.push('end')
    return super.onResponseEnd(controller, trailers)
  }
}

const seen = []
const timing = (dispatch) => (options, handler) => {
  const headers = { ...options.headers, authorization: 'Bearer token' }
  return dispatch({ ...options, headers }, new TimingHandler(handler, seen))
}
const agent = new Agent({ connect: { ca: CA } }).compose(timing)
const { headers, body } = await request(`${ORIGIN}/fields`, { dispatcher: agent, headers: { a: 'b' } })
const fields = await body.json()
console.log(headers['x-seen'], fields.authorization, fields.a)
console.log(
  seen.filter((entry) => typeof entry === 'string' || entry === 200),
  agent instanceof Dispatcher,
)

const client = new Client(ORIGIN, { connect: { ca: CA } })
const failing = client.compose(interceptors.responseError())
const failure = await failing.request({ path: '/missing', method: 'GET' }).catch((error) => error)
console.log(failure.name, failure.code, failure.statusCode)
const dumping = client.compose(interceptors.dump({ maxSize: 1024 }))
console.log((await dumping.request({ path: '/echo?dumped', method: 'GET' })).statusCode)
const caching = client.compose(interceptors.cache())
const counts = []
for (let i = 0; i < 3; i++)
  counts.push(await (await caching.request({ path: '/cached', method: 'GET' })).body.text())
console.log(counts)
const zipped = client.compose(interceptors.decompress())
console.log(await (await zipped.request({ path: '/zipped', method: 'GET' })).body.text())

const retrying = new RetryAgent(client, { minTimeout: 1, timeoutFactor: 1 })
const busy = await retrying.request({ path: '/busy-twice?agent', method: 'GET' })
console.log(busy.statusCode, await busy.body.text(), retrying instanceof Dispatcher)

const collected = await new Promise((resolve, reject) => {
  const chunks = []
  const options = {
    path: '/busy-twice?handler',
    method: 'GET',
    retryOptions: { minTimeout: 1, timeoutFactor: 1 },
  }
  const handler = new RetryHandler(options, {
    dispatch: client.dispatch.bind(client),
    handler: {
      onRequestStart() {},
      onResponseStart() {},
      onResponseData: (_controller, chunk) => chunks.push(chunk),
      onResponseEnd: () => resolve(String(Buffer.concat(chunks))),
      onResponseError: (_controller, error) => reject(error),
    },
  })
  client.dispatch(options, handler)
})
console.log(collected)
await client.close()
await agent.close()
