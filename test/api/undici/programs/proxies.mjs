// ProxyAgent and EnvHttpProxyAgent.
import {
  Dispatcher,
  EnvHttpProxyAgent,
  errors,
  fetch,
  ProxyAgent,
  Response,
  request,
  setGlobalDispatcher,
} from 'undici'

const { ORIGIN, PLAIN, PROXY, CA } = process.env
const proxy = new ProxyAgent({ uri: PROXY, token: `Basic ${btoa('me:secret')}`, requestTls: { ca: CA } })
console.log(proxy instanceof ProxyAgent, proxy instanceof Dispatcher)

const secure = await request(`${ORIGIN}/echo?tunnel`, { dispatcher: proxy })
console.log(secure.statusCode, await secure.body.text())
const plain = await request(`${PLAIN}/echo?plain`, { dispatcher: proxy })
console.log(plain.statusCode, await plain.body.text())
const fetched = await fetch(`${ORIGIN}/echo?fetch`, { dispatcher: proxy })
console.log(fetched.status, await fetched.text(), fetched instanceof Response)
await proxy.close()

const refused = new ProxyAgent({ uri: PROXY, requestTls: { ca: CA } })
const error = await request(`${ORIGIN}/echo`, { dispatcher: refused }).catch((reason) => reason)
console.log(error.code, error instanceof errors.RequestAbortedError, error instanceof errors.UndiciError)
await refused.close()

const { port } = new URL(PROXY)
const env = new EnvHttpProxyAgent({
  httpProxy: `http://me:secret@127.0.0.1:${port}`,
  httpsProxy: `http://me:secret@127.0.0.1:${port}`,
  noProxy: 'example.com',
  requestTls: { ca: CA },
})
setGlobalDispatcher(env)
const byEnv = await request(`${ORIGIN}/echo?env`)
console.log(await byEnv.body.text(), env instanceof EnvHttpProxyAgent, env instanceof Dispatcher)
const builtIn = await globalThis.fetch(`${PLAIN}/echo?built-in`)
console.log(await builtIn.text())
await env.close()
