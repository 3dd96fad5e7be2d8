import { EventEmitter, once } from 'node:events'
import { Readable } from 'node:stream'
import { describe, expect, it, onTestFinished } from 'vitest'
import { Client } from '../../src/index.ts'
import { destroyWithTest } from '../support/clients/agents.ts'
import { ENGINES, Harness } from '../support/clients/engines.ts'
import { startServer } from '../support/servers/server.ts'

describe.each(ENGINES)('on engine %s', (engine) => {
  it('an upload that is aborted never looks complete to the server', async () => {
    const heard = new EventEmitter()
    const server = await startServer((stream) => {
      stream.on('data', () => heard.emit('data'))
      // By END_STREAM, as opposed to a reset.
      stream.on('end', () => heard.emit('end', stream.closed))
    })
    const harness = new Harness(server.origin, { engine })
    onTestFinished(() => harness.scheduler.destroy(null))
    const body = new Readable({ read() {} })
    const call = harness.dispatch({ method: 'POST', body })
    body.push('one ')
    await once(heard, 'data')
    const ended = once(heard, 'end')
    call.controller?.abort()
    expect(await ended).toEqual([true])
  })

  it('a tunnel that is destroyed never looks ended to the server', async () => {
    const heard = new EventEmitter()
    const server = await startServer((stream) => {
      stream.respond({ ':status': 200 })
      stream.on('data', () => heard.emit('data'))
      stream.on('end', () => heard.emit('end', stream.closed))
    })
    const client = destroyWithTest(new Client(server.origin, { engine }))
    const { socket } = await client.connect({ path: 'x.example:443' })
    socket.write('one ')
    await once(heard, 'data')
    const ended = once(heard, 'end')
    socket.destroy()
    expect(await ended).toEqual([true])
  })
})
