/** A server of node:http2, for Bun to run: its responses are those of ../java/Scene.java. */
import { createServer } from 'node:http2'
import { crc32 } from 'node:zlib'

const server = createServer()

server.on('stream', (stream, headers) => {
  const { pathname, search } = new URL(headers[':path'] ?? '/', 'http://localhost')
  const query = search.slice(1)
  stream.on('error', () => {})
  const say = (/** @type {number} */ status, /** @type {string | Uint8Array} */ body) => {
    stream.respond({ ':status': status })
    stream.end(body)
  }
  const readSum = (/** @type {(text: string) => void} */ onSum) => {
    let [size, sum] = [0, 0]
    stream.on('data', (/** @type {Buffer} */ piece) => {
      size += piece.length
      sum = crc32(piece, sum)
    })
    stream.on('end', () => onSum(`${size} ${sum}`))
  }
  if (pathname === '/down')
    say(
      200,
      Uint8Array.from({ length: Number(query) }, (_none, at) => at % 251),
    )
  else if (pathname === '/up') readSum((text) => say(200, text))
  else if (pathname === '/early') say(413, 'too much')
  else if (pathname === '/take') {
    console.log(`took ${query}`)
    readSum(() => setTimeout(say, 30, 200, query))
  } else say(404, 'nothing here')
})

server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  if (typeof address === 'object') console.log(`listening ${address?.port}`)
})
