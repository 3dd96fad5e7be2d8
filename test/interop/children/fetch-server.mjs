// A server of node:http2 over TLS for the tests of fetch, which takes HTTP/1.1 as well: each response has the protocol
// in `x-protocol`. Without a key it speaks HTTP/1.1 in cleartext: what nginx and Apache put HTTP/2 in front of.
// `fetch-server.go` is its twin.
import { EventEmitter } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { createSecureServer } from 'node:http2'
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'

const [, , key, cert] = process.argv
const FILE = 'the content of a file'
const MODIFIED = 'Sat, 01 Jan 2022 00:00:00 GMT'
const TEXT = 'compress me, '.repeat(1_000)
const COMPRESSORS = { gzip: gzipSync, br: brotliCompressSync, deflate: deflateSync }

/** The events of an exchange: `seen`, `release` and `ended`, each with its name. */
const happened = new Set()
const events = new EventEmitter().setMaxListeners(0)

function tell(what) {
  happened.add(what)
  events.emit(what)
}

function hear(what, listener) {
  if (happened.has(what)) listener()
  else events.once(what, listener)
}

const ROUTES = {
  '/file': (request, response) => {
    response.setHeader('last-modified', MODIFIED)
    if (request.headers['if-modified-since'] === MODIFIED) return response.writeHead(304).end()
    response.setHeader('content-length', FILE.length)
    return response.end(request.method === 'HEAD' ? '' : FILE)
  },
  '/nothing': (_request, response) => response.writeHead(204).end(),
  '/echo': (request, response) => {
    response.setHeader('x-method', request.method)
    response.setHeader('x-length', request.headers['content-length'] ?? 'none')
    response.setHeader('content-type', request.headers['content-type'] ?? 'none/none')
    response.flushHeaders()
    request.pipe(response)
  },
  '/cookies': (_request, response) => {
    response.setHeader('set-cookie', ['a=1; Path=/', 'b=2, 3; HttpOnly', 'c=4'])
    response.end('cookies')
  },
  '/compressed': (request, response) => {
    const coding = request.headers['accept-encoding']
    response.setHeader('content-encoding', coding)
    response.end(COMPRESSORS[coding](TEXT))
  },
  '/trailers': (_request, response) => {
    response.setHeader('trailer', 'x-sum')
    response.write('with ')
    response.addTrailers({ 'x-sum': 'a1b2c3' })
    response.end('trailers')
  },
  // A connection that has brought requests before isn't the right one.
  '/misdirected': (request, response) => {
    const status = request.stream.session.count > 1 ? 421 : 200
    request.resume().on('end', () => response.writeHead(status).end('directed'))
  },
  // GOAWAY: the session takes no more, and ends with its streams.
  '/retire': (request, response) => {
    const { session } = request.stream
    response.end('retired', () => session.close())
  },
}

/** Those with a name, `/held/1`. */
const NAMED = {
  held: (name, _request, response) => hear(`release ${name}`, () => response.end('released')),
  half: (name, _request, response) => {
    response.write('first ')
    hear(`release ${name}`, () => response.end('second'))
  },
  swallow: (name, request, response) => {
    request.once('data', () => tell(`begun ${name}`)).on('end', () => response.end('swallowed'))
  },
  seen: (name, _request, response) => hear(`seen ${name}`, () => response.end('seen')),
  begun: (name, _request, response) => hear(`begun ${name}`, () => response.end('begun')),
  ended: (name, _request, response) => hear(`ended ${name}`, () => response.end('ended')),
  release: (name, _request, response) => {
    tell(`release ${name}`)
    response.end('released')
  },
}

function serve(request, response) {
  request.on('error', ignore)
  response.on('error', ignore)
  response.setHeader('x-protocol', `HTTP/${request.httpVersion}`)
  const session = request.stream?.session
  if (session !== undefined) {
    session.count = (session.count ?? 0) + 1
    response.setHeader('x-connection', session.name)
  }
  const { pathname } = new URL(request.url, 'https://localhost')
  const [, first, name] = pathname.split('/')
  if (first === 'redirect') {
    // The body isn't needed; it is read so that it doesn't hold the connection up.
    request.resume().on('end', () => response.writeHead(Number(name), { location: '/echo' }).end())
  } else if (name !== undefined && first in NAMED) {
    response.on('close', () => tell(`ended ${name}`))
    if (['held', 'half', 'swallow'].includes(first)) tell(`seen ${name}`)
    NAMED[first](name, request, response)
  } else if (pathname in ROUTES) ROUTES[pathname](request, response)
  else response.writeHead(404).end('there is nothing')
}

const server =
  key === undefined
    ? createServer(serve)
    : createSecureServer({ key: readFileSync(key), cert: readFileSync(cert), allowHTTP1: true }, serve)
server.on('sessionError', ignore)
// The socket, and so its port, may be gone before the request is served.
let sessions = 0
server.on('session', (session) => {
  session.name = ++sessions
})
server.listen(0, '127.0.0.1', () => console.log(`listening ${server.address().port}`))

function ignore() {}
