/** `dodici serve` while its process has no file descriptors left. */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, writeFile } from 'node:fs/promises'
import type { Socket } from 'node:net'
import { connect } from 'node:net'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { Client } from '../../../src/index.ts'
import { CLI, makeFolder, removeFolder } from '../../support/clients/cli.ts'

/** More than Node needs to start, and fewer than the sockets that the test opens. */
const DESCRIPTORS = 64
const SOCKETS = 80

async function startLimited(folder: string): Promise<URL> {
  const args = ['serve', '--no-tls', '--port', '0', folder]
  const child = spawn(
    'sh',
    ['-c', `ulimit -n ${DESCRIPTORS}; exec "$0" "$@"`, process.execPath, CLI, ...args],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { ...process.env, NODE_OPTIONS: '' },
    },
  )
  const closed = once(child, 'close')
  onTestFinished(async () => {
    child.kill('SIGKILL')
    await closed
  })
  let text = ''
  child.stdout.setEncoding('utf8').on('data', (piece: string) => {
    text += piece
  })
  while (!text.includes('Press Ctrl-C to stop.')) await once(child.stdout, 'data')
  return new URL(/http:\/\/localhost:\d+/.exec(text)?.[0] ?? '')
}

/** Opens sockets that stay idle. The system accepts all of them; the process closes those that it has no room for. */
async function openSockets(port: number): Promise<Socket[]> {
  const sockets = Array.from({ length: SOCKETS }, () => connect(port, '127.0.0.1').on('error', () => {}))
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
  })
  await Promise.all(sockets.map((socket) => once(socket, 'connect')))
  return sockets
}

describe.skipIf(process.platform === 'win32')('without file descriptors', () => {
  it('a file is a 503 with retry-after, what needs none is served, and then all is as before', async () => {
    const folder = await makeFolder()
    onTestFinished(() => removeFolder(folder))
    await mkdir(join(folder, 'site'))
    await writeFile(join(folder, 'site/a.txt'), 'abcdef')
    const { origin, port } = await startLimited(join(folder, 'site'))
    const client = new Client(origin, { h2c: true })
    onTestFinished(() => client.destroy())
    const get = async (path: string) => {
      const { statusCode, headers, body } = await client.request({ path, method: 'GET' })
      return { status: statusCode, again: headers['retry-after'], text: await body.text() }
    }
    expect(await get('/a.txt')).toEqual({ status: 200, again: undefined, text: 'abcdef' })

    const sockets = await openSockets(Number(port))
    // It reads as it accepts: once a socket was closed for want of room, there is none.
    await Promise.race(sockets.map((socket) => once(socket.resume(), 'close')))
    expect(await get('/a.txt')).toMatchObject({ status: 503, again: '1' })
    expect(await get('/headers')).toMatchObject({ status: 200 })
    expect(await get('/nothing')).toMatchObject({ status: 404 })

    for (const socket of sockets) socket.destroy()
    // The server hears of that when it does.
    let last = await get('/a.txt')
    while (last.status === 503) last = await get('/a.txt')
    expect(last).toEqual({ status: 200, again: undefined, text: 'abcdef' })
    const another = new Client(origin, { h2c: true })
    onTestFinished(() => another.destroy())
    expect((await another.request({ path: '/a.txt', method: 'GET' })).statusCode).toBe(200)
  })
})
