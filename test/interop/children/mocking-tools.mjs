// Requests beside a tool that answers some of them: one process for each tool and each way of sending requests. It prints what each has got.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'

const [, , toolName, wayName] = process.argv
const { DODICI, ENTRY, ORIGIN, PLAIN, CA, MOCKS, engine } = process.env
const connect = { ca: readFileSync(CA) }

const BIG = 'a line of a big mock\n'.repeat(50_000)

/** A response as one line, whatever its shape. */
async function tell(response, text) {
  const { headers } = response
  const type = headers instanceof Headers ? headers.get('content-type') : headers['content-type']
  const status = response.status ?? response.statusCode
  return `${status} ${String(type).split(';')[0]} ${text.length > 99 ? text.length : text}`
}

const byFetch = (fetch, more) => async (url, init) => {
  const response = await fetch(url, { ...init, ...more })
  return tell(response, await response.text())
}

const byRequest = (request, more) => async (url, init) => {
  const response = await request(url, { ...init, ...more })
  return tell(response, await response.body.text())
}

const ours = () => import(DODICI)
const entry = () => import(ENTRY)
const npm = () => import('undici')

/** Each makes a function that sends one request, and reads its response. */
const WAYS = {
  'the built-in fetch': async () => byFetch((...args) => fetch(...args)),
  'request() of npm undici': async () => {
    const { Agent, request } = await npm()
    return byRequest(request, { dispatcher: new Agent({ connect }) })
  },
  'the built-in fetch, over an installed Agent': async () => {
    const { Agent, install } = await ours()
    install(new Agent({ connect, engine }))
    return byFetch((...args) => fetch(...args))
  },
  'the built-in fetch, with an Agent': async () => {
    const { Agent } = await ours()
    return byFetch((...args) => fetch(...args), { dispatcher: new Agent({ connect, engine }) })
  },
  'the fetch of dodici/undici as the global one': async () => {
    const { Agent, install, setGlobalDispatcher } = await entry()
    install()
    setGlobalDispatcher(new Agent({ connect, engine }))
    return byFetch((...args) => fetch(...args))
  },
  'request() of npm undici, with an Agent': async () => {
    const { Agent } = await ours()
    return byRequest((await npm()).request, { dispatcher: new Agent({ connect, engine }) })
  },
  'request()': async () => {
    const { Agent, request } = await ours()
    return byRequest(request, { dispatcher: new Agent({ connect, engine }) })
  },
  'fetch()': async () => {
    const { Agent, fetch } = await ours()
    return byFetch(fetch, { dispatcher: new Agent({ connect, engine }) })
  },
  'request() of dodici/undici': async () => {
    const { Agent, request } = await entry()
    return byRequest(request, { dispatcher: new Agent({ connect, engine }) })
  },
}

const load = createRequire(new URL('../user-tools/package.json', import.meta.url))

const TOOLS = {
  async nock() {
    const { default: nock } = load('nock')
    const type = { 'content-type': 'text/plain' }
    for (const origin of ['https://mocked.test', 'http://mocked.test']) {
      nock(origin)
        .persist()
        .get('/hello')
        .reply(200, 'a mock', type)
        .get('/late')
        .delay(50)
        .reply(200, 'a late mock', type)
        .get('/big')
        .reply(200, BIG, type)
        .get('/missing')
        .reply(404, 'nothing', type)
        .post('/echo', 'this')
        .reply(201, 'heard this', type)
        .get('/error')
        .replyWithError(Object.assign(new Error('a mocked error'), { code: 'ECONNREFUSED' }))
    }
    return {
      refuse() {
        nock.disableNetConnect()
        nock.enableNetConnect('localhost')
      },
      stop: () => nock.restore(),
    }
  },

  async msw() {
    const { http, HttpResponse, delay } = load('msw')
    const { setupServer } = load('msw/node')
    const toHandlers = (origin) => [
      http.get(`${origin}/hello`, () => HttpResponse.text('a mock')),
      http.get(`${origin}/late`, async () => {
        await delay(50)
        return HttpResponse.text('a late mock')
      }),
      http.get(`${origin}/big`, () => HttpResponse.text(BIG)),
      http.get(`${origin}/missing`, () => HttpResponse.text('nothing', { status: 404 })),
      http.post(`${origin}/echo`, async ({ request }) =>
        HttpResponse.text(`heard ${await request.text()}`, { status: 201 }),
      ),
      http.get(`${origin}/error`, () => HttpResponse.error()),
    ]
    const server = setupServer(...toHandlers('https://mocked.test'), ...toHandlers('http://mocked.test'))
    server.listen({ onUnhandledRequest: 'bypass' })
    // It has no function that keeps requests from the network.
    return { refuse: null, stop: () => server.close() }
  },
}

const POST = { method: 'POST', headers: { 'content-type': 'text/plain' }, body: 'this' }
const told = {}

/** What came, or the reason why nothing did. Each request ends, whatever it meets. */
async function tellOne(url, init) {
  try {
    return await send(url, { ...init, signal: AbortSignal.timeout(20_000) })
  } catch (error) {
    let reason = error
    while (reason.cause instanceof Error) reason = reason.cause
    return `failed: ${reason.message}`
  }
}

async function ask(what, url, init) {
  told[what] = await tellOne(url, init)
}

async function askMocks(scheme) {
  const url = `${scheme}://mocked.test`
  for (const path of ['hello', 'late', 'big', 'missing', 'error'])
    await ask(`${scheme} ${path}`, `${url}/${path}`)
  await ask(`${scheme} POST`, `${url}/echo`, POST)
  const lines = await Promise.all(Array.from({ length: 20 }, () => tellOne(`${url}/hello`)))
  told[`${scheme} twenty at once`] = [...new Set(lines)].join('; ')
}

const send = await WAYS[wayName]()
const tool = await TOOLS[toolName]()
// A timer of the signals doesn't keep the process alive.
const hold = setInterval(() => {}, 60_000)

if (MOCKS === 'yes') for (const scheme of ['https', 'http']) await askMocks(scheme)
await ask('real https', `${ORIGIN}/version`)
await ask('real https POST', `${ORIGIN}/version`, POST)
await ask('real http', `${PLAIN}/version`)
if (tool.refuse !== null) {
  tool.refuse()
  await ask('refused https', 'https://other.test/')
  await ask('refused http', 'http://other.test/')
}
tool.stop()
await ask('real http without the tool', `${PLAIN}/version`)
// Another origin than above: what was learned of that one is remembered for a while.
await ask('real https without the tool', `${ORIGIN.replace('localhost', '127.0.0.1')}/version`)
clearInterval(hold)
console.log(JSON.stringify(told))
// What the tools and the Agents keep open is no matter here.
process.exit()
