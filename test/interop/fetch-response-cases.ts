/** The parts that a response may have or lack. */

import { expect } from 'vitest'
import type { Case } from './fetch-scene.ts'
import type { ServerName } from './fetch-servers.ts'

const ALL: readonly ServerName[] = ['nghttpd', 'nginx', 'apache', 'go', 'node']

/** Who makes what. */
const CODINGS: Readonly<Record<string, readonly ServerName[]>> = {
  gzip: ['nginx', 'apache', 'go', 'node'],
  br: ['apache', 'node'],
  deflate: ['go', 'node'],
}

const COMPRESSED: readonly Case[] = Object.entries(CODINGS).map(([coding, servers]) => ({
  what: `a response that is compressed with ${coding} is read as what it was`,
  servers,
  async run(scene) {
    const response = await scene.ask('/compressed', { headers: { 'accept-encoding': coding } })
    expect(response.headers.get('content-encoding')).toBe(coding)
    expect(await response.text()).toBe('compress me, '.repeat(1_000))
  },
}))

export const RESPONSES: readonly Case[] = [
  {
    what: 'each set-cookie line is one cookie',
    servers: ['nginx', 'apache', 'go', 'node'],
    async run(scene) {
      const response = await scene.ask('/cookies')
      expect(response.headers.getSetCookie()).toEqual(['a=1; Path=/', 'b=2, 3; HttpOnly', 'c=4'])
      expect(await response.text()).toBe('cookies')
    },
  },
  ...COMPRESSED,
  {
    what: 'a response with trailers completes',
    servers: ['nghttpd', 'nginx', 'go', 'node'],
    async run(scene) {
      expect(await scene.askText('/trailers')).toMatch(/^with trailers$/)
      // What the fetch is not told: there were some.
      const { body, trailers } = await scene.agent.request({
        origin: scene.server.origin,
        path: '/trailers',
        method: 'GET',
      })
      await body.dump()
      expect(trailers).toEqual({ 'x-sum': 'a1b2c3' })
    },
  },
  {
    what: 'a 204 has no body',
    servers: ['nginx', 'apache', 'go', 'node'],
    async run(scene) {
      const response = await scene.ask('/nothing')
      expect([response.status, response.body]).toEqual([204, null])
      expect(await response.text()).toBe('')
    },
  },
  {
    what: 'a 304 has no body',
    servers: ALL,
    async run(scene) {
      const first = await scene.ask('/file')
      expect(await first.text()).toBe('the content of a file')
      const modified = first.headers.get('last-modified') ?? 'never'
      const response = await scene.ask('/file', { headers: { 'if-modified-since': modified } })
      expect([response.status, response.body]).toEqual([304, null])
      expect(await response.text()).toBe('')
    },
  },
  {
    what: 'the response to HEAD has a length, and no body',
    servers: ALL,
    async run(scene) {
      const response = await scene.ask('/file', { method: 'HEAD' })
      expect(response.status).toBe(200)
      expect(response.headers.get('content-length')).toBe('21')
      expect(await response.text()).toBe('')
    },
  },
]
