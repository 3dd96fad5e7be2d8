/** A Response of fetch, with npm's undici in the place of Node's own classes. */

import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'
import { describe, expect, it } from 'vitest'
import { bundle } from '../../support/clients/bundled.ts'
import { runNode } from '../../support/clients/child.ts'
import { startRig, toReason } from './body-support-rig.ts'

const { resolve } = createRequire(import.meta.url)

/** undici 8 doesn't load on Node 20. */
const UNDICIS = process.versions.node.startsWith('20.')
  ? ['undici-6', 'undici']
  : ['undici-6', 'undici', 'undici-8']

const toChild = bundle({ foreign: new URL('../../process/children/fetch-foreign.ts', import.meta.url) })

describe.each(UNDICIS)('when %s is in the place of the classes of Node', (name) => {
  it.each(['before', 'after'])('%s the first fetch: Responses are of its class', async (order) => {
    const { code, stdout, stderr } = await runNode(
      toChild('foreign'),
      pathToFileURL(resolve(name)).href,
      order,
    )
    expect(stderr).toBe('')
    expect(code).toBe(0)
    const facts = JSON.parse(stdout)
    expect(facts).toMatchObject({
      isTheirs: true,
      isSubclassOfOurs: false,
      constructor: true,
      before: order === 'after' ? true : null,
      beforeText: order === 'after' ? '/before' : null,
      headers: true,
      text: '/text',
      blob: 'text/plain',
      clone: '/clone',
      again: '/again',
      response: '/after',
    })
    // Either the whole body, or a clear refusal: other code can set undici 6's state, but not that of 7 and 8.
    const [text, clone, cache] = name === 'undici-6' ? ['/their-text', '/their-clone', '/cache'] : []
    expect(facts.theirText).toBe(text ?? 'TypeError')
    expect(facts.theirClone).toBe(clone ?? 'TypeError')
    expect(facts.cache).toBe(cache ?? 'TypeError')
    expect(facts.cacheOfRead).toBe('TypeError')
    expect(facts.state).toEqual(name === 'undici-6' ? { status: 200, isBody: true } : null)
  })
})

/** The symbols behind which the Response of Node 20 and 22 has its state; none on later lines. */
const symbols = Object.getOwnPropertySymbols(new Response())

if (symbols.length > 0) {
  describe("when other code reads the state of Node's own Response", () => {
    it.each(
      symbols.map((symbol) => [symbol.description ?? '', symbol] as const),
    )('its %s is that of the response', async (name, symbol) => {
      const rig = await startRig({
        onRequest(stream) {
          stream.head(201, [['x-field', 'a']])
          stream.end('body')
        },
      })
      const response = await rig.get('/')
      const value = Reflect.get(response, symbol)
      expect(Reflect.get(response, symbol)).toBe(value)
      if (name === 'headers') {
        expect(value).toBeInstanceOf(Headers)
        expect(value.get('x-field')).toBe('a')
      } else {
        expect(value.status).toBe(201)
        expect(value.body.stream).toBe(response.body)
      }
      expect(response.bodyUsed).toBe(false)
      expect(await response.text()).toBe('body')
    })

    it('a Response whose body was read has no body in its state', async () => {
      const rig = await startRig({ onRequest: (stream) => stream.respond() })
      const response = await rig.get('/')
      await response.text()
      for (const symbol of symbols) {
        const reading = (async () => Reflect.get(response, symbol))()
        expect(await toReason(reading)).toBeInstanceOf(TypeError)
      }
    })

    it('a Response without a body gives a state without one', async () => {
      const rig = await startRig({
        onRequest(stream) {
          stream.head(204)
          stream.end()
        },
      })
      const response = await rig.get('/')
      const bodies = symbols
        .filter(({ description }) => description === 'state')
        .map((symbol) => Reflect.get(response, symbol).body)
      expect(bodies.filter((body) => (body ?? null) !== null)).toEqual([])
    })
  })
}
