/**
 * An origin whose requests to `/hang` get no response, and whose requests to `/drip` get a header section and no end, for any
 * line of Node. Arguments: `h2c` or `http1`, and the port. `GET /active` says how many of them it works at.
 */
import { createServer as createHttp1 } from 'node:http'
import { createServer as createHttp2 } from 'node:http2'

const [way, port] = process.argv.slice(2)

let active = 0

/** @param {import('node:stream').Writable} response */
function work(response) {
  active++
  response.on('close', () => active--)
}

function startHttp1() {
  const server = createHttp1((request, response) => {
    request.on('error', () => {})
    response.on('error', () => {})
    if (request.url === '/active') response.end(`${active}`)
    else if (request.url === '/hang') work(response)
    else if (request.url === '/drip') {
      work(response)
      response.write('drip')
    } else response.end('ok')
  })
  server.requestTimeout = 0
  server.headersTimeout = 0
  return server
}

function startHttp2() {
  const server = createHttp2()
  server.on('session', (session) => session.on('error', () => {}))
  server.on('stream', (/** @type {import('node:http2').ServerHttp2Stream} */ stream, headers) => {
    stream.on('error', () => {})
    if (stream.destroyed) return
    const path = headers[':path']
    if (path === '/hang') {
      work(stream)
      return
    }
    stream.respond({ ':status': 200 })
    if (path === '/active') stream.end(`${active}`)
    else if (path === '/drip') {
      work(stream)
      stream.write('drip')
    } else stream.end('ok')
  })
  return server
}

const server = way === 'h2c' ? startHttp2() : startHttp1()
server.listen(Number(port), '127.0.0.1')
