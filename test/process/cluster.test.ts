/** Processes of `node:cluster`, each with a dispatcher of its own. */

import { fork } from 'node:child_process'
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { request } from 'node:http'
import type { ServerHttp2Stream } from 'node:http2'
import { text } from 'node:stream/consumers'
import { describe, expect, it, onTestFinished } from 'vitest'
import { bundle } from '../support/clients/bundled.ts'
import { ENGINES } from '../support/clients/engines.ts'
import { startServer } from '../support/servers/server.ts'

const toPath = bundle({ cluster: new URL('./children/cluster.ts', import.meta.url) })

interface Ready {
  readonly port: number
  readonly pids: readonly [number, number]
}

/** Two processes behind one port. */
async function startCluster(engine: string, origin: string) {
  const primary = fork(toPath('cluster'), [engine, origin], {
    env: { ...process.env, NODE_OPTIONS: '' },
    execArgv: [],
  })
  const exited = once(primary, 'exit')
  // The others end with it.
  onTestFinished(async () => {
    primary.kill('SIGKILL')
    await exited
  })
  const hear = async <T>(): Promise<T> => (await once(primary, 'message'))[0]
  const { port, pids } = await hear<Ready>()
  return {
    port,
    pids,
    exited,
    /** How the process ended. */
    end(how: 'kill' | 'disconnect', pid: number): Promise<unknown> {
      const heard = hear()
      primary.send({ end: how, pid })
      return heard
    },
  }
}

/** Asks by a connection of its own. */
async function ask(port: number, path: string): Promise<IncomingMessage> {
  const sent = request({ host: '127.0.0.1', port, path, agent: false }).end()
  const [response] = await once(sent, 'response')
  return response
}

const toPid = ({ headers }: IncomingMessage): number => Number(headers['x-process'])

describe.each(ENGINES)('processes of node:cluster, with engine %s', (engine) => {
  it('when one is killed in the middle of a response › the other goes on, until disconnect() ends it', async () => {
    const halves = new Map<number, ServerHttp2Stream>()
    const { origin, sessions } = await startServer((stream, headers) => {
      stream.respond({ ':status': 200 })
      if (headers[':path'] === '/half') {
        const pid = Number(headers['x-process'])
        // One of each process is enough.
        halves.get(pid)?.end()
        halves.set(pid, stream)
        stream.write('first half, ')
      } else stream.end('hello')
    })
    const { port, pids, exited, end } = await startCluster(engine, origin)

    // A response in the middle from each of the two, whichever gets a connection.
    const begun = new Map<number, IncomingMessage>()
    while (begun.size < 2) {
      const response = await ask(port, '/half')
      response.on('error', () => {})
      begun.set(toPid(response), response)
    }
    expect([...begun.keys()].sort()).toEqual([...pids].sort())
    const [victim, other] = pids
    const cut = text(begun.get(victim) as IncomingMessage)
    const left = text(begun.get(other) as IncomingMessage)
    const lost = new Promise((resolve) => halves.get(victim)?.session?.once('close', resolve))

    const killed = end('kill', victim)
    await expect(cut).rejects.toMatchObject({ code: 'ECONNRESET' })
    expect(await killed).toMatchObject({ pid: victim, signal: 'SIGKILL', exitedAfterDisconnect: false })
    await lost
    for (const response of [await ask(port, '/'), await ask(port, '/')]) {
      expect([toPid(response), await text(response)]).toEqual([other, 'hello'])
    }

    const disconnected = end('disconnect', other)
    // It takes no more connections, and finishes its response.
    const knock = (): Promise<unknown> => ask(port, '/').then(text, ({ code }) => code)
    await expect.poll(knock).toBe('ECONNREFUSED')
    halves.get(other)?.end('second half')
    expect(await left).toBe('first half, second half')
    expect(await disconnected).toEqual({ pid: other, code: 0, signal: null, exitedAfterDisconnect: true })
    expect(await exited).toEqual([0, null])
    expect(sessions).toHaveLength(2)
  })
})
