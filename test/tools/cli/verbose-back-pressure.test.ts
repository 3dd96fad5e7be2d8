/** `-v` shows frames as fast as they are read, and no faster: a reader that stops holds up the connection. */

import { readFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { describe, expect, it, onTestFinished } from 'vitest'
import { frames } from '../../../src/testing/index.ts'
import { CliProcess } from '../../support/clients/cli.ts'
import { listen } from '../../support/servers/listen.ts'

/** Of one byte each: what `-v` shows of one is four times as long as the frame. */
const FRAMES = 100_000

const RESPONSE = Buffer.concat([
  frames.settings(),
  frames.settingsAck(),
  frames.response(1),
  ...Array.from({ length: FRAMES }, () => frames.data(1, 'a')),
  frames.ping(Buffer.from('all read')),
])

/** A server that ends its response when the client has read all of it. */
class FloodServer {
  /** The client has acknowledged the PING behind the response. */
  isAllRead = false

  async start(): Promise<string> {
    const server = createServer((socket) => {
      socket.once('data', () => socket.write(RESPONSE))
      socket.on('data', (chunk: Buffer) => {
        if (this.isAllRead || !chunk.includes('all read')) return
        this.isAllRead = true
        socket.write(frames.data(1, '', 1))
      })
    })
    return `http://127.0.0.1:${(await listen(server)).port}/`
  }
}

/** The processor time of a process so far. Clock ticks. */
async function toTicks(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8')
  const [user, system] = stat.slice(stat.lastIndexOf(')')).split(' ').slice(12, 14).map(Number)
  return (user ?? 0) + (system ?? 0)
}

/** The most memory that a process has had. Megabytes. */
async function toPeak(pid: number): Promise<number> {
  const [, kilobytes] = /VmHWM:\s+(\d+)/.exec(await readFile(`/proc/${pid}/status`, 'utf8')) ?? []
  return Number(kilobytes) / 1_024
}

/** Settles when a process has had nothing to do for half a second, once this has begun. */
async function untilIdle(pid: number, isBegun: () => boolean): Promise<void> {
  let last = -1
  let idle = 0
  while (idle < 5) {
    await wait(100)
    const ticks = await toTicks(pid)
    idle = isBegun() && ticks === last ? idle + 1 : 0
    last = ticks
  }
}

async function start(...flags: string[]): Promise<{ server: FloodServer; running: CliProcess; pid: number }> {
  const server = new FloodServer()
  const running = new CliProcess([...flags, await server.start()], {})
  onTestFinished(() => running.kill())
  return { server, running, pid: running.child.pid ?? 0 }
}

// What a process uses is read from /proc.
describe.skipIf(process.platform !== 'linux')('dodici -v, whose reader stops', () => {
  it.each([
    [['-v'], []],
    [['-sv'], []],
    [['-v', '--engine', 'node'], []],
    [['-v'], ['stdout']],
  ] as const)('%j, and %j stops, too: it waits, and goes on when the reader does', async (flags, others) => {
    const { pid, running, server } = await start(...flags)
    const stopped = [running.child.stderr, ...others.map((name) => running.child[name])]
    await running.warns('SETTINGS')
    for (const stream of stopped) stream?.pause()
    await untilIdle(pid, () => true)
    expect(server.isAllRead).toBe(false)
    expect(await toPeak(pid)).toBeLessThan(200)
    for (const stream of stopped) stream?.resume()
    const { code, stderr, stdout } = await running.exit()
    const [, failure = null] = /^(dodici: .*)$/m.exec(stderr) ?? []
    expect([code, failure, server.isAllRead, stdout.length]).toEqual([0, null, true, FRAMES])
    expect(stderr.match(/^< DATA stream 1 1 bytes/gm)).toHaveLength(FRAMES)
  })

  it('--json -v: keeps the first 10,000 frames, and waits for no reader', async () => {
    const { pid, running, server } = await start('--json', '-v')
    running.child.stdout?.pause()
    running.child.stderr?.pause()
    await untilIdle(pid, () => server.isAllRead)
    expect(await toPeak(pid)).toBeLessThan(200)
    running.child.stdout?.resume()
    running.child.stderr?.resume()
    const { code, stdout } = await running.exit()
    const { frames: shown, response } = JSON.parse(stdout)
    expect([code, shown.length, response.body.bytes]).toEqual([0, 10_000, FRAMES])
  })
})
