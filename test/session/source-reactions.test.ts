import { Readable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { Flag, frames } from '../../src/testing/frames.ts'
import { ENGINES } from '../support/clients/engines.ts'
import type { Recorder } from '../support/clients/recorder.ts'
import { listenForUncaught } from '../support/clients/uncaught.ts'
import { ask, PATIENT, SERVE, startHarness, startPeer, toOutcomes } from '../support/peers/peer-rig.ts'

describe.each(ENGINES)('the source of a body, on engine %s', (engine) => {
  it('that aborts its call when it is asked for its iterator › is told that it is over, and not read', async () => {
    const peer = await startPeer(SERVE)
    const harness = startHarness(peer, { ...PATIENT, engine })
    const heard: string[] = []
    let call: Recorder | null = null
    const body: AsyncIterable<string> = {
      [Symbol.asyncIterator]() {
        call?.controller?.abort()
        const say = async (what: string) => ({ done: heard.push(what) > 100, value: 'x' })
        return { next: () => say('next'), return: () => say('return') }
      },
    }
    call = ask(harness, 'POST /aborted', { body })
    await call.settled
    for (let turn = 0; turn < 5; turn++) await setImmediate()
    expect([call.error.name, heard]).toEqual(['AbortError', ['return']])
  })

  it('whose listener for `pause` throws when the response is complete › disturbs no call', async () => {
    const peer = await startPeer({})
    const harness = startHarness(peer, { ...PATIENT, engine, connections: 1 })
    const body = new Readable({ read() {} })
    body.push('some')
    const calls = [ask(harness, 'POST /upload', { body })]
    await peer.waitFor(() => peer.requests[0]?.length === 4)
    calls.push(ask(harness, 'GET /sibling'))
    await peer.waitFor(() => peer.requests.length === 2)
    const uncaught = listenForUncaught()
    body.on('pause', () => {
      throw new Error('paused')
    })
    const responses = peer.requests.flatMap(({ id, path }) => [
      frames.response(id),
      frames.data(id, path, Flag.END_STREAM),
    ])
    peer.connection(0).write(Buffer.concat(responses))
    expect(await toOutcomes(calls)).toEqual(['/upload', '/sibling'])
    await setImmediate()
    expect(uncaught).toEqual(['paused'])
    expect(body.destroyed).toBe(true)
  })
})
