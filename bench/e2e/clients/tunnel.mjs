/**
 * Sends `body` through a tunnel, reads as many bytes back, and ends it. It is done when the tunnel has closed, so
 * that none is left when the client is.
 *
 * @param {import('node:stream').Duplex} socket
 * @param {Buffer | null} body
 * @param {number} status the response's, to hand on
 * @param {import('./index.mjs').Done} done
 */
export function echo(socket, body, status, done) {
  if (body === null) throw new Error('a tunnel needs something to send')
  let bytes = 0
  socket.on('data', (chunk) => {
    bytes += chunk.length
    if (bytes >= body.length) socket.end()
  })
  socket.on('error', () => {})
  socket.on('close', () => done(socket.errored, status, bytes))
  socket.write(body)
}
