/** Aborts: before the request, while it waits for the response, and in the middle of either body. */

import { ReadableStream } from 'node:stream/web'
import { expect } from 'vitest'
import type { Case, Scene } from './fetch-scene.ts'
import type { ServerName } from './fetch-servers.ts'

/**
 * Servers that report the events of an exchange. Apache's upstream doesn't notice an abort before it sends something.
 */
const TELLING: readonly ServerName[] = ['nginx', 'go', 'node']
const KNOWING: readonly ServerName[] = [...TELLING, 'apache']

/** An aborted request disturbs no other: the same connection goes on, once the server has seen the abort. */
async function expectEnd(scene: Scene, name: string): Promise<void> {
  if (TELLING.includes(scene.name)) expect(await scene.askText(`/ended/${name}`)).toBe('ended')
  else await scene.askText(`/release/${name}`)
  expect(await scene.askText('/file')).toBe('the content of a file')
  expect(scene.agent.stats[scene.server.origin]).toMatchObject({ connected: 1, running: 0 })
}

export const ABORTS: readonly Case[] = [
  {
    what: 'a signal that is aborted already keeps the request from being sent',
    servers: ['nghttpd', 'nginx', 'apache', 'go', 'node'],
    async run(scene) {
      const reason = new Error('not at all')
      const response = scene.ask('/file', { signal: AbortSignal.abort(reason) })
      await expect(response).rejects.toBe(reason)
      expect(scene.agent.stats).toEqual({})
      expect(await scene.askText('/file')).toBe('the content of a file')
    },
  },
  {
    what: 'an abort without a reason is an AbortError',
    servers: KNOWING,
    async run(scene) {
      const [name, abort] = [scene.toName(), new AbortController()]
      const response = scene.ask(`/held/${name}`, { signal: abort.signal })
      const seen = scene.askText(`/seen/${name}`)
      expect(await seen).toBe('seen')
      abort.abort()
      await expect(response).rejects.toMatchObject({ name: 'AbortError' })
      await expectEnd(scene, name)
    },
  },
  {
    what: 'an abort while the request waits for its response ends it',
    servers: KNOWING,
    async run(scene) {
      const [name, abort, reason] = [scene.toName(), new AbortController(), new Error('no more')]
      const response = scene.ask(`/held/${name}`, { signal: abort.signal, method: 'POST', body: 'body' })
      const seen = scene.askText(`/seen/${name}`)
      expect(await seen).toBe('seen')
      abort.abort(reason)
      await expect(response).rejects.toBe(reason)
      await expectEnd(scene, name)
    },
  },
  {
    what: "an abort in the middle of the response's body ends it",
    servers: KNOWING,
    async run(scene) {
      const [name, abort, reason] = [scene.toName(), new AbortController(), new Error('no more')]
      const response = await scene.ask(`/half/${name}`, { signal: abort.signal })
      const reader = response.body?.getReader()
      expect(Buffer.from((await reader?.read())?.value ?? []).toString()).toBe('first ')
      abort.abort(reason)
      await expect(reader?.read()).rejects.toBe(reason)
      await expectEnd(scene, name)
    },
  },
  {
    what: 'an abort in the middle of a large file ends it',
    servers: ['nghttpd', 'nginx', 'apache'],
    async run(scene) {
      const [abort, reason] = [new AbortController(), new Error('no more')]
      const response = await scene.ask('/large', { signal: abort.signal })
      const reader = response.body?.getReader()
      expect((await reader?.read())?.done).toBe(false)
      abort.abort(reason)
      // What came before it may have been queued.
      await expect(readOn(() => reader?.read())).rejects.toBe(reason)
      expect(await scene.askText('/file')).toBe('the content of a file')
    },
  },
  {
    what: "an abort in the middle of the request's body ends it",
    servers: TELLING,
    async run(scene) {
      const [name, abort, reason] = [scene.toName(), new AbortController(), new Error('no more')]
      const body = new ReadableStream<Uint8Array>({
        start: (controller) => controller.enqueue(Buffer.from('a beginning')),
      })
      const response = scene.ask(`/swallow/${name}`, {
        method: 'POST',
        body,
        duplex: 'half',
        signal: abort.signal,
      })
      const begun = scene.askText(`/begun/${name}`)
      expect(await begun).toBe('begun')
      abort.abort(reason)
      await expect(response).rejects.toBe(reason)
      await expectEnd(scene, name)
    },
  },
]

async function readOn(read: () => Promise<{ done: boolean }> | undefined): Promise<void> {
  for (let isDone: boolean | undefined = false; isDone === false; ) isDone = (await read())?.done
}
