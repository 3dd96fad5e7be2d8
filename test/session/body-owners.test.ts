import { Writable } from 'node:stream'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Agent, fetch, install, uninstall } from '../../src/index.ts'
import type { RequestBody } from '../../types/index.ts'
import { destroyWithTest } from '../support/clients/agents.ts'
import type { Fate, SourceKind } from '../support/clients/owned-sources.ts'
import { makeFile, removeFile, SOURCES } from '../support/clients/owned-sources.ts'
import { Recorder } from '../support/clients/recorder.ts'
import { isFull } from '../support/clocks/sample.ts'
import type { Ending, Moment } from '../support/servers/early-server.ts'
import { EARLY_ROUTES, MOMENTS, TEXT, toPath } from '../support/servers/early-server.ts'

interface Way {
  readonly name: string
  /** @returns the status and the text of the response, once all of it has come */
  call(agent: Agent, origin: string, path: string, body: RequestBody): Promise<string>
}

const method = 'POST'

/** It sends a copy of the source that it makes by `tee()`, and never ends the source itself. */
const BUILTIN = 'the built-in fetch()'

const WAYS: readonly Way[] = [
  {
    name: 'request()',
    async call(agent, origin, path, body) {
      const response = await agent.request({ origin, path, method, body })
      return `${response.statusCode} ${await response.body.text()}`
    },
  },
  {
    name: 'stream()',
    async call(agent, origin, path, body) {
      const chunks: Buffer[] = []
      let status = 0
      await agent.stream({ origin, path, method, body }, ({ statusCode }) => {
        status = statusCode
        return new Writable({
          write(chunk: Buffer, _encoding, callback) {
            chunks.push(chunk)
            callback()
          },
        })
      })
      return `${status} ${Buffer.concat(chunks)}`
    },
  },
  {
    name: 'dispatch()',
    async call(agent, origin, path, body) {
      const recorder = new Recorder()
      agent.dispatch({ origin, path, method, body }, recorder)
      await recorder.settled
      if (recorder.errors.length > 0) throw recorder.error
      return `${recorder.statuses[0]} ${recorder.text}`
    },
  },
  {
    name: 'fetch()',
    async call(agent, origin, path, body) {
      const init = { method, body, duplex: 'half', dispatcher: agent } as Parameters<typeof fetch>[1]
      const response = await fetch(`${origin}${path}`, init)
      return `${response.status} ${await response.text()}`
    },
  },
  {
    name: BUILTIN,
    async call(agent, origin, path, body) {
      install(agent)
      try {
        const init = { method, body, duplex: 'half' } as RequestInit
        const response = await globalThis.fetch(`${origin}${path}`, init)
        return `${response.status} ${await response.text()}`
      } finally {
        uninstall()
      }
    },
  },
]

function toFate(moment: Moment, { isResponse }: Ending): Fate {
  if (moment === 'after') return isResponse ? 'whole' : 'late'
  return isResponse ? 'early' : 'failed'
}

/** Whether a fetch sends the source, and not its name. */
function takes(way: string, fetches: SourceKind['fetches']): boolean {
  if (way === BUILTIN) return fetches === 'all'
  return way !== 'fetch()' || fetches !== 'none'
}

beforeAll(makeFile)
afterAll(removeFile)

/** request() sends each source on each route. The other ways differ above the route: their sources take turns. */
function isDue(way: Way, source: number, route: number): boolean {
  return (
    isFull || way.name === 'request()' || (source + WAYS.indexOf(way) + route) % EARLY_ROUTES.length === 0
  )
}

describe.each(EARLY_ROUTES)('the source of a body, on $name', (route) => {
  const { options, endings, start } = route
  describe.each(WAYS)('by $name', (each) => {
    const { name: way, call } = each
    const kinds = SOURCES.filter(
      ({ fetches }, at) => takes(way, fetches) && isDue(each, at, EARLY_ROUTES.indexOf(route)),
    )
    it.each(kinds)('$name › is left in order, however the server ends the call', async ({ play }) => {
      const origin = await start()
      // The ways differ in what they do with the response: one of them meets all moments.
      for (const moment of way === 'request()' ? MOMENTS : (['within'] as const)) {
        for (const ending of endings.filter(({ isResponse }) => isResponse || way !== BUILTIN)) {
          const agent = destroyWithTest(new Agent(options))
          const fate = toFate(moment, ending)
          const extent = moment === 'after' ? 'whole' : 'endless'
          try {
            const path = toPath(moment, ending)
            const outcome = await play(
              extent,
              fate,
              (body) => call(agent, origin, path, body),
              way !== BUILTIN,
            )
            if (ending.isResponse) expect(outcome).toBe(`413 ${TEXT}`)
            else expect(outcome).toBeInstanceOf(Error)
          } catch (thrown) {
            throw new Error(`${moment}: ${ending.name}: ${String(thrown)}`, { cause: thrown })
          }
          await agent.destroy()
        }
      }
    })
  })
})
