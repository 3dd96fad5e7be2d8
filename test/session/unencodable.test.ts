/** Fields that no check has seen, as they can't be encoded: the last line of defence is the encoder's. */

import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { Call } from '../../src/call/call.ts'
import { errors } from '../../src/index.ts'
import { Request } from '../../src/request/request.ts'
import { ask, SERVE, startHarness, startPeer } from '../support/peers/peer-rig.ts'

const BAD = ['x-bad', 'a\u010ab: c']

/** Lets them through in what calls to `/bad` send. */
function smuggle(): void {
  const begin = Call.prototype.begin
  const spies = [
    vi.spyOn(Call.prototype, 'begin').mockImplementation(function (this: Call, attempt) {
      const wire = Reflect.apply(begin, this, [attempt])
      if (wire === null || this.request.path !== '/bad') return wire
      return [...wire, 'x-new', 'v', ...BAD]
    }),
    vi.spyOn(Request.prototype, 'toTrailers').mockImplementation(function (this: Request) {
      return this.path === '/bad-trailers' ? ['x-new', 'v', ...BAD] : ['x-sum', '1']
    }),
  ]
  onTestFinished(() => {
    for (const spy of spies) spy.mockRestore()
  })
}

describe('engine wire, when fields that cannot be encoded have passed the checks', () => {
  it('fails that call alone, before anything of it is sent', async () => {
    smuggle()
    const peer = await startPeer(SERVE)
    const harness = startHarness(peer, { engine: 'wire', connections: 1 })
    const calls = ['GET /1', 'GET /bad', 'POST /2', 'POST /bad', 'GET /3'].map((what) => ask(harness, what))
    await Promise.all(calls.map(({ settled }) => settled))
    const later = ask(harness, 'GET /4', { headers: { 'x-new': 'v' } })
    await later.settled
    for (const call of [calls[1], calls[3]]) {
      expect(call?.error).toBeInstanceOf(errors.InvalidArgumentError)
      expect(call?.error).toMatchObject({ processed: 'no', streamId: null })
      expect(call?.error.message).toMatch(/^Invalid header "x-bad": /)
    }
    expect([calls[0], calls[2], calls[4], later].map((call) => call?.text)).toEqual([
      'GET /1',
      'POST /2',
      'GET /3',
      'GET /4',
    ])
    expect(peer.ledger).toEqual(['0/1 GET /1', '0/3 POST /2', '0/5 GET /3', '0/7 GET /4'])
    expect(peer.request('/4').field('x-new')).toBe('v')
    expect(harness.scheduler).toMatchObject({ pending: 0, running: 0, connected: 1 })
  })

  it('resets the stream of a call whose trailers contain them, and no other', async () => {
    smuggle()
    const peer = await startPeer(SERVE)
    const harness = startHarness(peer, { engine: 'wire', connections: 1 })
    const trailers = { 'x-sum': '1' }
    const calls = ['POST /1', 'POST /bad-trailers', 'POST /2'].map((what) => ask(harness, what, { trailers }))
    await Promise.all(calls.map(({ settled }) => settled))
    expect(calls[1]?.error).toBeInstanceOf(errors.InvalidArgumentError)
    expect([calls[0]?.text, calls[2]?.text]).toEqual(['POST /1', 'POST /2'])
    await peer.waitFor(() => peer.request('/bad-trailers').resetCode !== null)
    expect(peer.request('/bad-trailers')).toMatchObject({ resetCode: 8, trailers: null })
    expect(peer.request('/2').trailers).toEqual([['x-sum', '1']])
    expect(peer.connections).toHaveLength(1)
  })
})
