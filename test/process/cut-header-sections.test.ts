import { describe, expect, it } from 'vitest'
import { bundle } from '../support/clients/bundled.ts'
import { runNodeWith } from '../support/clients/child.ts'
import { inTurn } from '../support/clocks/sample.ts'
import { toCertificate } from '../support/servers/server.ts'

const ROUNDS = 15

const toFile = bundle({ cut: new URL('./children/cut-header-sections.ts', import.meta.url) })

/** Played in a process of its own: node used to abort it. */
async function play(over: string, ...scene: string[]): Promise<unknown> {
  const { private: key, cert } = await toCertificate()
  const credentials = over === 'tls' ? [key, cert] : []
  const { code, signal, stdout, stderr } = await runNodeWith(
    ['--expose-gc'],
    toFile('cut'),
    ...scene,
    ...credentials,
  )
  expect(stderr).toBe('')
  expect({ code, signal }).toEqual({ code: 0, signal: null })
  return JSON.parse(stdout)
}

const ENDS = [
  { what: 'more CONTINUATION frames than nghttp2 takes', end: 'many frames' },
  { what: 'another frame within it', end: 'another frame' },
  { what: 'the end of the connection', end: 'break' },
]
const METHODS = ['GET', 'POST'] as const

describe.each([
  ['tcp', 0],
  ['tls', 1],
] as const)('a response header section that is cut off, on engine node, over %s', (over, turn) => {
  const cases = ENDS.flatMap((end, at) => inTurn(METHODS, turn + at).map((method) => ({ ...end, method })))
  it.each(
    cases,
  )('of a $method, by $what › fails its call, and the process lives through collections of garbage', async ({
    method,
    end,
  }) => {
    expect(await play(over, end, method, `${ROUNDS}`, '0')).toEqual({ failed: ROUNDS })
    expect(await play(over, end, method, '5', '3')).toEqual({ failed: 5 })
  })
})
