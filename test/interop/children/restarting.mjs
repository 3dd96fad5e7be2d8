// A server of node:http2 for the tests of restarts. It behaves as `restarting.go` does, over h2c.
import { writeSync } from 'node:fs'
import { createServer } from 'node:http2'

const sessions = new Set()
const server = createServer()

server.on('session', (session) => {
  sessions.add(session)
  session.on('error', ignore).on('close', () => sessions.delete(session))
})
server.on('stream', (stream, headers) => {
  stream.on('error', ignore)
  stream.resume().on('end', () => response(stream, headers))
})
server.listen(0, '127.0.0.1', () => say(`listening ${server.address().port}`))

process.on('SIGTERM', () => {
  server.close()
  // GOAWAY with the last stream that was taken up; the session ends with its streams.
  for (const session of sessions) session.close()
})

function response(stream, { ':method': method, ':path': path }) {
  if (stream.destroyed) return
  say(`${stream.session.socket.remotePort} ${method} ${path} 200`)
  if (path.endsWith('/held')) return
  // Work of uneven length, so that at any time some of it is under way.
  setTimeout(() => {
    if (stream.destroyed) return
    stream.respond({ ':status': 200, 'x-echo': `${method} ${path}` }, { endStream: true })
  }, Math.random() * 5)
}

/** At once: nothing of it is lost when the process is killed. */
function say(line) {
  writeSync(1, `${line}\n`)
}

function ignore() {}
