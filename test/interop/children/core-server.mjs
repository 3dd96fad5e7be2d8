// An HTTP/2 server by node:http2's own `stream` API, that announces no content-length: node core-server.mjs PORT FOLDER
// `/WAY/BYTES` asks for a body of that length, sent in that way.
import { closeSync, createReadStream, ftruncateSync, openSync } from 'node:fs'
import { createServer } from 'node:http2'
import { join } from 'node:path'
import { pipeline } from 'node:stream'

const [port, folder] = process.argv.slice(2)
const PIECE = Buffer.alloc(65_536)

/** A file of so many zeros. */
function openFile(size) {
  const path = join(folder, String(size))
  const file = openSync(path, 'a')
  ftruncateSync(file, size)
  closeSync(file)
  return createReadStream(path)
}

const WAYS = {
  drain(stream, size) {
    let left = size
    const write = () => {
      while (left > 0) {
        const piece = PIECE.subarray(0, left)
        left -= piece.length
        if (stream.write(piece)) continue
        stream.once('drain', write)
        return
      }
      stream.end()
    }
    write()
  },
  once(stream, size) {
    stream.write(Buffer.alloc(size))
    stream.end()
  },
  pipe(stream, size) {
    openFile(size).pipe(stream)
  },
  pipeline(stream, size) {
    pipeline(openFile(size), stream, ignore)
  },
}

function ignore() {}

// By default 10 MB: a server that is asked for more by calls at once refuses them.
const server = createServer({ maxSessionMemory: 4_000 })
server.on('stream', (stream, headers) => {
  stream.on('error', ignore)
  const [, way, size] = headers[':path'].split('/')
  stream.respond({ ':status': 200 })
  WAYS[way](stream, Number(size))
})
server.listen(Number(port), () => console.log('listening'))
