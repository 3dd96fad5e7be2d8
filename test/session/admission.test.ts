/** A new call is opened at once when no other call waits, and keeps its place behind those that do. */

import { describe, expect, it } from 'vitest'
import { Client } from '../../src/index.ts'
import { Setting } from '../../src/testing/frames.ts'
import { destroyWithTest } from '../support/clients/agents.ts'
import { ENGINES } from '../support/clients/engines.ts'
import { SERVE, startPeer } from '../support/peers/peer-rig.ts'
import { Reentrant, Scene } from './reentrance-scene.ts'

describe.each(ENGINES)('a new call, on engine %s', (engine) => {
  /** A client whose connection is there, to a peer that takes one stream at a time. */
  async function begin(): Promise<Scene> {
    const peer = await startPeer({ ...SERVE, settings: [[Setting.MAX_CONCURRENT_STREAMS, 1]] })
    const client = destroyWithTest(new Client(peer.origin, { engine }))
    const scene = new Scene(client, peer)
    scene.ask('GET /warm')
    await scene.settle()
    return scene
  }

  function toPaths(scene: Scene): string[] {
    return scene.peer.requests.map(({ path }) => path)
  }

  describe('while others wait', () => {
    it('is opened after them, whatever it was dispatched from', async () => {
      const scene = await begin()
      scene.ask('GET /1', new Reentrant('onResponseEnd', () => scene.ask('GET /4')))
      scene.ask('GET /2', new Reentrant('onRequestStart', () => scene.ask('GET /3')))
      await scene.settle()
      // /3 is dispatched before /2 is queued. The order of dispatch puts it behind.
      expect(toPaths(scene)).toEqual(['/warm', '/1', '/2', '/3', '/4'])
    })
  })

  describe('while none waits', () => {
    it('gives its room to the next call when its handler ends it as it is opened', async () => {
      const scene = await begin()
      const ended = new Reentrant('onRequestSent', () => {
        scene.ask('GET /next')
        ended.controller?.abort(new Error('no more'))
      })
      scene.ask('GET /ended', ended)
      await scene.settle()
      expect(scene.calls.map((call) => call.errors[0]?.message ?? call.text)).toEqual([
        'GET /warm',
        'no more',
        'GET /next',
      ])
    })

    it('tells the caller whether a further one would wait', async () => {
      const scene = await begin()
      expect(scene.ask('GET /open')).toBe(true)
      expect(scene.ask('GET /waits')).toBe(false)
      await scene.settle()
    })
  })
})
