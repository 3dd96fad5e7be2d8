/** Connections that get a 421, and connections that are retired. */

import { expect } from 'vitest'
import type { AnyResponse } from './fetch-fetches.ts'
import type { Case, Init, Scene } from './fetch-scene.ts'
import { toConnection } from './fetch-scene.ts'
import type { ServerName } from './fetch-servers.ts'

const SERVERS: readonly ServerName[] = ['nginx', 'apache', 'go', 'node']

/** How many requests it may take until a server has retired a connection; nginx does so after ten. */
const PATIENCE = 20
const REQUESTS = 100
const IN_FLIGHT = 20

const MISDIRECTED: readonly Case[] = [
  { method: 'GET' },
  { method: 'POST', body: 'a body that can be sent again' },
].map((init) => ({
  what: `a 421 sends a ${init.method} to another connection, whose 200 is the response`,
  servers: SERVERS,
  async run(scene) {
    const first = await scene.ask('/misdirected', init)
    expect([first.status, await first.text()]).toEqual([200, 'directed'])
    const second = await scene.ask('/misdirected', init)
    expect([second.status, await second.text()]).toEqual([200, 'directed'])
    expect(toConnection(second)).not.toBe(toConnection(first))
  },
}))

/** Sends requests until a response comes by another connection than this. */
async function retire(scene: Scene, connection: string | null): Promise<AnyResponse> {
  const { restart, retiringOrigin } = scene.server
  await restart?.()
  for (let asked = 0; asked < PATIENCE; asked++) {
    const response = await scene.ask(restart === undefined ? '/retire' : '/file', {}, retiringOrigin)
    await response.text()
    if (toConnection(response) !== connection) return response
  }
  throw new Error('The connection was not retired')
}

export const CONNECTIONS: readonly Case[] = [
  ...MISDIRECTED,
  {
    what: 'a GOAWAY lets a response that has begun finish, and the next requests go to another connection',
    servers: SERVERS,
    async run(scene) {
      const name = scene.toName()
      const begun = await scene.ask(`/half/${name}`, {}, scene.server.retiringOrigin)
      const next = await retire(scene, toConnection(begun))
      const released = await scene.ask(`/release/${name}`, {}, scene.server.retiringOrigin)
      expect(await released.text()).toBe('released')
      expect(await begun.text()).toBe('first second')
      expect(toConnection(next)).not.toBe(toConnection(begun))
    },
  },
  {
    what: 'a GOAWAY lets a request that waits for its response finish',
    servers: ['nginx', 'go', 'node'],
    async run(scene) {
      const name = scene.toName()
      const { retiringOrigin } = scene.server
      const init: Init = { method: 'POST', body: 'a body' }
      const retireMeanwhile = async (): Promise<string | null> => {
        const seen = await scene.ask(`/seen/${name}`, {}, retiringOrigin)
        expect(await seen.text()).toBe('seen')
        await retire(scene, toConnection(seen))
        await (await scene.ask(`/release/${name}`, {}, retiringOrigin)).text()
        return toConnection(seen)
      }
      const held = scene.ask(`/held/${name}`, init, retiringOrigin)
      const [response, connection] = await Promise.all([held, retireMeanwhile()])
      expect([response.status, await response.text()]).toEqual([200, 'released'])
      expect(toConnection(response)).toBe(connection)
    },
  },
  {
    what: 'a connection that is retired again and again loses nothing',
    servers: ['nginx', 'go', 'node'],
    async run(scene) {
      const { retiringOrigin } = scene.server
      const connections = new Set<string | null>()
      const responses: string[] = []
      let asked = 0
      const work = async (): Promise<void> => {
        while (asked < REQUESTS) {
          const path = ++asked % 10 === 0 ? '/retire' : '/file'
          const response = await scene.ask(path, {}, retiringOrigin)
          connections.add(toConnection(response))
          responses.push(`${response.status} ${await response.text()}`)
        }
      }
      await Promise.all(Array.from({ length: IN_FLIGHT }, work))
      expect(responses.filter((response) => response === '200 the content of a file')).toHaveLength(90)
      expect(responses.filter((response) => response === '200 retired')).toHaveLength(10)
      expect(connections.size).toBeGreaterThan(2)
    },
  },
]
