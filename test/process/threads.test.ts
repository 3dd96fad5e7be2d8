/** Worker threads, each with dispatchers of its own, in one process. */

import type { ServerHttp2Stream } from 'node:http2'
import { describe, expect, it } from 'vitest'
import { bundle } from '../support/clients/bundled.ts'
import { runNode } from '../support/clients/child.ts'
import { ENGINES } from '../support/clients/engines.ts'
import { serveHello, startServer } from '../support/servers/server.ts'

const toPath = bundle({ threads: new URL('./children/threads.ts', import.meta.url) })

/** The lines of a program that ended by itself, without an error. */
async function run(name: string, ...args: string[]): Promise<string[]> {
  const { code, signal, stdout, stderr } = await runNode(toPath(name), ...args)
  expect(stderr).toBe('')
  expect([code, signal]).toEqual([0, null])
  return stdout.trimEnd().split('\n')
}

async function play(scene: string, engine: string, origin: string): Promise<unknown[]> {
  return (await run('threads', scene, engine, origin)).map((line) => JSON.parse(line))
}

describe.each(ENGINES)('a worker thread, with engine %s', (engine) => {
  it('when its requests are done › ends by itself, with its idle connection, and so does the process', async () => {
    const { origin, sessions } = await startServer(serveHello)
    expect(await play('idle', engine, origin)).toEqual([
      { texts: Array(20).fill('hello'), connected: true, code: 0 },
      { left: [] },
    ])
    expect(sessions).toHaveLength(1)
  })

  it('when it is terminated with 100 calls in flight › loses its connection, and other threads nothing', async () => {
    const held: { stream: ServerHttp2Stream; thread: unknown }[] = []
    let closed = 0
    let arrive: () => void = () => {}
    const arrived = new Promise<void>((resolve) => {
      arrive = resolve
    })
    /** The calls of the other threads get their responses when the connection of this one is gone. */
    const onClosed = (): void => {
      closed++
      for (const { stream, thread } of held) if (thread !== 'many') serveHello(stream, {})
    }
    const { origin, sessions } = await startServer(async (stream, headers) => {
      if (headers[':path'] === '/arrived') await arrived
      if (headers[':path'] !== '/held') return serveHello(stream, headers)
      const thread = headers['x-thread']
      const isFirst = !held.some((other) => other.thread === thread)
      if (thread === 'many' && isFirst) stream.session?.once('close', onClosed)
      if (held.push({ stream, thread }) === 120) arrive()
    })
    const ten = Array(10).fill('hello')
    const [terminated, others, left] = await play('terminated', engine, origin)
    expect(terminated).toEqual({ code: 1 })
    expect(others).toEqual({ mine: ten, few: ten, again: ['hello'] })
    expect(left).toEqual({ left: [] })
    const lost = held.filter(({ thread }) => thread === 'many')
    expect(lost.map(({ stream }) => stream.headersSent)).toEqual(Array(100).fill(false))
    // No call was sent again, and the others kept their connections.
    expect([held.length, closed, sessions.length]).toEqual([120, 1, 3])
  })

  it('when it calls install() › its own fetch uses the dispatcher, and that of no other thread', async () => {
    const { origin } = await startServer(serveHello)
    expect(await play('installed', engine, origin)).toMatchObject([
      {
        inThread: { text: 'hello', ours: true },
        elsewhere: { error: 'TypeError' },
        untouched: true,
        after: { ours: false },
        main: { text: 'hello', ours: true },
      },
      {},
    ])
  })

  it('when it transfers bodies to the main thread › takes no bytes from other responses', async () => {
    const { origin } = await startServer((stream, headers) => {
      const [, size, fill] = String(headers[':path']).split('/').map(Number)
      stream.respond({ ':status': 200, 'content-length': size })
      stream.end(Buffer.alloc(size ?? 0, fill))
    })
    const [facts, left] = await play('transferred', engine, origin)
    expect(facts).toMatchObject({ code: 0, wrong: [] })
    const sizes = Array.from({ length: 50 }, (_, index) => (index % 10 === 0 ? 0 : (index * 97) % 5_000))
    const streamed = sizes.reduce((sum, size) => sum + size, 0)
    expect(facts).toMatchObject({
      counts: { bytes: 50, arrayBuffer: 50, fetched: 50, streamed, posted: 100_000 },
    })
    expect(left).toEqual({ left: [] })
  })
})
