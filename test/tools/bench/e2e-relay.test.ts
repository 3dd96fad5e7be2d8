import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Server, Socket } from 'node:net'
import { connect, createServer } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'

const script = fileURLToPath(new URL('../../../bench/e2e/latency-relay.mjs', import.meta.url))

/** Milliseconds, one way. */
const DELAY = 10
/** A timer may be early by so many milliseconds, each way. */
const SLACK = 0.75

const toPort = (server: Server): number => {
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('The server has no port')
  return address.port
}

/** A relay before a server that does this with each of its connections. */
async function startRelay(serve: (socket: Socket) => void): Promise<number> {
  const server = createServer({ allowHalfOpen: true }, serve).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const options = JSON.stringify({ port: toPort(server), delay: DELAY })
  const relay = spawn(process.execPath, [script, options], { stdio: ['pipe', 'pipe', 'inherit'] })
  const closed = once(relay, 'close')
  onTestFinished(async () => {
    relay.stdin.end()
    await closed
    server.close()
  })
  const [line] = await once(relay.stdout.setEncoding('utf8'), 'data')
  return Number(/^listening (\d+)\n$/.exec(line)?.[1])
}

function open(port: number): Socket {
  const socket = connect({ port, host: '127.0.0.1' })
  onTestFinished(() => {
    socket.destroy()
  })
  return socket
}

it('the relay hands each byte on after its delay, there and back', async () => {
  const socket = open(await startRelay((far) => far.pipe(far)))
  await once(socket, 'connect')
  const begun = performance.now()
  socket.end('ping')
  expect((await buffer(socket)).toString()).toBe('ping')
  expect(performance.now() - begun).toBeGreaterThanOrEqual(2 * (DELAY - SLACK))
})

it('the relay keeps what many connections carry apart', async () => {
  const size = 2 ** 20
  const port = await startRelay((far) => {
    far.once('data', ([letter]: Buffer) => far.end(Buffer.alloc(size, letter)))
  })
  const letters = [...'abcdefgh']
  const responses = letters.map((letter) => {
    const socket = open(port)
    socket.write(letter)
    return buffer(socket)
  })
  const expected = letters.map((letter) => Buffer.alloc(size, letter))
  expect(
    (await Promise.all(responses)).map((response, index) => response.equals(expected[index] ?? response)),
  ).toEqual(letters.map(() => true))
})
