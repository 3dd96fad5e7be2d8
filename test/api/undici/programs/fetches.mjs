// The global fetch, with FormData.
import {
  Agent,
  FormData,
  fetch,
  getGlobalOrigin,
  Headers,
  install,
  Request,
  Response,
  setGlobalDispatcher,
  setGlobalOrigin,
} from 'undici'

const { ORIGIN, CA } = process.env
setGlobalDispatcher(new Agent({ connect: { ca: CA } }))

const form = new FormData()
form.append('name', 'Ada')
form.append('file', new Blob(['content'], { type: 'text/plain' }), 'notes.txt')
const sent = await fetch(`${ORIGIN}/echo`, { method: 'POST', body: form })
const parts = await sent.formData()
console.log(sent.status, parts.get('name'), parts.get('file').name, await parts.get('file').text())
console.log(sent instanceof Response, sent.headers instanceof Headers, parts instanceof FormData)

const asked = new Request(`${ORIGIN}/echo?asked`, { headers: new Headers({ a: 'b' }) })
const response = await fetch(asked)
console.log(await response.text(), response.ok, response.redirected, asked instanceof Request)

const builtIn = await globalThis.fetch(`${ORIGIN}/moved`)
console.log(builtIn.status, await builtIn.json(), builtIn.redirected)

const refused = await fetch('https://localhost:1/').catch((error) => error)
console.log(refused.name, refused.message, refused.cause.code)
const aborted = await fetch(`${ORIGIN}/never`, { signal: AbortSignal.timeout(20) }).catch((error) => error)
console.log(aborted.name)

console.log(getGlobalOrigin())
setGlobalOrigin(ORIGIN)
console.log(await (await fetch('/echo?relative')).text(), getGlobalOrigin().origin === ORIGIN)
setGlobalOrigin(undefined)

install()
const installed = await globalThis.fetch(new globalThis.Request(`${ORIGIN}/echo?installed`))
console.log(globalThis.fetch === fetch, installed instanceof globalThis.Response, await installed.text())
console.log(globalThis.Headers === Headers, globalThis.FormData === FormData, typeof globalThis.EventSource)
process.exit()
