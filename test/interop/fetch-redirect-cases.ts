/** Redirects, which each fetch follows by itself: with requests of its own making. */

import { ReadableStream } from 'node:stream/web'
import { expect } from 'vitest'
import type { Case } from './fetch-scene.ts'
import type { ServerName } from './fetch-servers.ts'

const SERVERS: readonly ServerName[] = ['nginx', 'apache', 'go', 'node']
const TEXT = 'once more'

export const REDIRECTS: readonly Case[] = [
  {
    what: 'a GET is redirected by a 302',
    servers: SERVERS,
    async run(scene) {
      const response = await scene.ask('/redirect/302')
      expect([response.status, response.redirected]).toEqual([200, true])
      expect(response.url).toBe(`${scene.server.origin}/echo`)
      expect(response.headers.get('x-method')).toBe('GET')
      expect(await response.text()).toBe('')
    },
  },
  {
    what: 'a POST is redirected by a 303, as a GET without a body',
    servers: SERVERS,
    async run(scene) {
      const response = await scene.ask('/redirect/303', { method: 'POST', body: TEXT })
      expect([response.status, response.redirected]).toEqual([200, true])
      expect(response.headers.get('x-method')).toBe('GET')
      expect(response.headers.get('x-length')).toBe('none')
      expect(await response.text()).toBe('')
    },
  },
  {
    what: 'a POST is redirected by a 307, with its body',
    servers: SERVERS,
    async run(scene) {
      const response = await scene.ask('/redirect/307', { method: 'POST', body: TEXT })
      expect([response.status, response.redirected]).toEqual([200, true])
      expect(response.headers.get('x-method')).toBe('POST')
      expect(await response.text()).toBe(TEXT)
    },
  },
  {
    what: 'a 307 fails a POST whose body is there only once',
    servers: SERVERS,
    async run(scene) {
      const body = new ReadableStream<Uint8Array>({
        start(controller) {
          controller.enqueue(Buffer.from(TEXT))
          controller.close()
        },
      })
      const response = scene.ask('/redirect/307', { method: 'POST', body, duplex: 'half' })
      await expect(response).rejects.toThrow(TypeError)
      expect(await scene.askText('/file')).toBe('the content of a file')
    },
  },
  {
    what: "redirect: 'manual' gives the redirection itself",
    servers: SERVERS,
    async run(scene) {
      const response = await scene.ask('/redirect/302', { redirect: 'manual' })
      expect([response.status, response.redirected]).toEqual([302, false])
      expect(response.headers.get('location')).toMatch(/\/echo$/)
      await response.text()
    },
  },
  {
    what: "redirect: 'error' fails",
    servers: SERVERS,
    async run(scene) {
      await expect(scene.ask('/redirect/302', { redirect: 'error' })).rejects.toThrow(TypeError)
      expect(await scene.askText('/file')).toBe('the content of a file')
    },
  },
]
