// The servers of the cases of the Fetch standard: two origins that speak HTTP/1.1, two that speak HTTP/2 over TLS, and
// one that responds with any bytes. They serve the same: the response in the query of `respond`, or an echo.
import { EventEmitter } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { createSecureServer } from 'node:http2'
import { createServer as createRawServer } from 'node:net'

/** What happens to a named exchange: `seen`, `ended`. */
const happened = new Set()
const events = new EventEmitter().setMaxListeners(0)

function tell(what) {
  happened.add(what)
  events.emit(what)
}

function toFields(request) {
  const fields = []
  const { rawHeaders } = request
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i].toLowerCase()
    if (!name.startsWith(':')) fields.push([name, rawHeaders[i + 1]])
  }
  return fields
}

/** Ends an exchange as nothing that is well would. */
function reset(response) {
  if (response.stream?.session) response.stream.close(2)
  else response.socket.destroy()
}

async function read(request) {
  const chunks = []
  for await (const chunk of request) chunks.push(chunk)
  return Buffer.concat(chunks)
}

const ROUTES = {
  /** All that came, as JSON; of a HEAD the field `x-seen` says it. */
  async inspect(request, response) {
    const seen = { method: request.method, path: request.url, headers: toFields(request) }
    response.setHeader('x-seen', encodeURIComponent(JSON.stringify({ ...seen, body: '' })))
    const body = await read(request)
    response.end(JSON.stringify({ ...seen, body: body.toString('base64') }))
  },

  /** What the query says, in base64url of JSON. */
  async respond(request, response, query) {
    const { status, reason, headers, body, repeat, pieces, end, name, early, hints } = JSON.parse(
      Buffer.from(query.split('#')[0], 'base64url').toString(),
    )
    if (name !== undefined) {
      response.on('close', () => tell(`ended ${name}`))
      if (early === true) tell(`seen ${name}`)
    }
    if (early === true) request.resume()
    else await read(request)
    if (name !== undefined) tell(`seen ${name}`)
    if (end === 'hold') return
    if (end === 'refuse') return reset(response)
    if (hints !== undefined) response.writeEarlyHints(hints)
    const grouped = new Map()
    for (const [key, value] of headers) grouped.set(key, [...(grouped.get(key) ?? []), value])
    const isHttp2 = response.stream?.session !== undefined
    for (const [key, values] of grouped) {
      // node:http2 sends one `content-type` and no more.
      const isSingle = values.length === 1 || (isHttp2 && key === 'content-type')
      response.setHeader(key, isSingle ? values.join(', ') : values)
    }
    if (reason !== undefined && !isHttp2) response.writeHead(status, reason)
    else response.writeHead(status)
    const bytes = Buffer.concat(Array(repeat).fill(Buffer.from(body, 'base64')))
    const size = Math.max(1, Math.ceil(bytes.length / pieces))
    for (let from = 0; from < bytes.length; from += size) {
      const isLast = from + size >= bytes.length
      if (isLast && end === 'end') return response.end(bytes.subarray(from))
      await new Promise((resolve) => response.write(bytes.subarray(from, from + size), resolve))
    }
    if (end === 'end') response.end()
    else if (end === 'reset') setImmediate(reset, response)
    else response.flushHeaders()
  },

  /** As many redirections as the query says, and then what was asked. */
  async loop(request, response, query) {
    await read(request)
    const left = Number(query)
    response.writeHead(302, { location: left > 1 ? `loop?${left - 1}` : 'inspect' }).end()
  },

  /** Tells whether that has happened so far. */
  async has(request, response, query) {
    await read(request)
    response.end(`${happened.has(decodeURIComponent(query))}`)
  },

  /** Responds once that has happened. */
  async happened(request, response, query) {
    const what = decodeURIComponent(query)
    await read(request)
    if (happened.has(what)) response.end(what)
    else events.once(what, () => response.end(what))
  },
}

function serve(request, response) {
  request.on('error', ignore)
  response.on('error', ignore)
  const [path, ...rest] = request.url.split('?')
  const route = ROUTES[path.split('/').at(-1)]
  response.setHeader('x-protocol', `HTTP/${request.httpVersion}`)
  // A request that is reset while its body is read needs no response.
  if (route !== undefined) route(request, response, rest.join('?')).catch(ignore)
  else request.resume().on('end', () => response.writeHead(404).end('there is nothing'))
}

/** Responds with the bytes in the query, or with what it got, for HTTP/1.1 that no server of Node's would speak. */
function respondRaw(socket) {
  let head = ''
  socket.on('error', ignore).on('data', (bytes) => {
    head += bytes.toString('latin1')
    if (!head.includes('\r\n\r\n')) return
    const [, query] = /^\S+ [^? ]*\?(\S*) /.exec(head) ?? []
    if (query !== undefined) return socket.end(Buffer.from(query, 'base64url'))
    socket.end(`HTTP/1.1 200 OK\r\ncontent-length: ${head.length}\r\nconnection: close\r\n\r\n${head}`)
  })
}

async function listen(server) {
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  return server.address().port
}

const { key, cert } = JSON.parse(readFileSync(0, 'utf8'))
const secure = () =>
  createSecureServer({ key, cert }, serve)
    .on('sessionError', ignore)
    .on('session', (session) => session.on('error', ignore))
const servers = [createServer(serve), createServer(serve), secure(), secure(), createRawServer(respondRaw)]
const [http1, otherHttp1, http2, otherHttp2, raw] = await Promise.all(servers.map(listen))
console.log(JSON.stringify({ http1, otherHttp1, http2, otherHttp2, raw }))

function ignore() {}
