import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { CHECKS, play } from '../../scripts/demo.mjs'
import * as dodici from '../../src/index.ts'
import { runNode } from '../support/clients/child.ts'
import { startServer } from '../support/servers/server.ts'

/** Run as `npm run demo` does, with the output of `npm run build`. */
const DEMO = fileURLToPath(new URL('../../scripts/demo.mjs', import.meta.url))

const COUNT = Object.keys(CHECKS).length

describe('the demo', () => {
  it('plays every check on both engines, over TLS and h2c, ends by itself, and fits on a screen', async () => {
    const { code, signal, stdout, stderr } = await runNode(DEMO)
    expect(stderr).toBe('')
    expect([code, signal]).toEqual([0, null])
    const lines = stdout.trimEnd().split('\n')
    expect(lines.length).toBeLessThan(40)
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(120)
    const played = lines.flatMap(
      (line) => /^engine (\w+), (\w+):.*: (\d+) of (\d+)/.exec(line)?.slice(1).join() ?? [],
    )
    const ways = ['node,https', 'node,http', 'wire,https', 'wire,http']
    expect(played).toEqual(ways.map((way) => `${way},${COUNT},${COUNT}`))
    expect(lines.at(-1)).toMatch(
      new RegExp(
        `^${4 * COUNT} of ${4 * COUNT} as expected; wire took \\d\\.\\d\\d of node:http2's CPU time\\.$`,
      ),
    )
  })

  it.each([
    ...['dispatch', 'request', 'compose', 'stream', 'pipeline', 'fetch', 'connect', 'upgrade'],
  ])('has a check of %s', (api) => {
    expect(Object.keys(CHECKS).some((name) => name.startsWith(`${api}: `))).toBe(true)
  })

  it('when the server responds wrongly, finds it in every check', async () => {
    const { origin } = await startServer(
      (stream) => {
        stream.respond({ ':status': 200 })
        stream.end('wrong')
        // What a client sends has to go somewhere.
        stream.resume()
      },
      { settings: { enableConnectProtocol: true } },
    )
    const outcomes = await play(dodici, { engine: 'wire', origin, connect: {} })
    expect(outcomes.map(({ name }) => name)).toEqual(Object.keys(CHECKS))
    expect(outcomes.filter(({ problem }) => problem === null)).toEqual([])
  })
})
