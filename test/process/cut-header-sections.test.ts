import { describe, expect, it } from 'vitest'
import { bundle } from '../support/clients/bundled.ts'
import { runNodeWith } from '../support/clients/child.ts'
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

describe.each([
  'tcp',
  'tls',
])('a response header section that is cut off, on engine node, over %s', (over) => {
  describe.each(['GET', 'POST'])('of a %s', (method) => {
    it.each([
      ['more CONTINUATION frames than nghttp2 takes', 'many frames'],
      ['another frame within it', 'another frame'],
      ['the end of the connection', 'break'],
    ])('by %s › fails its call, and the process lives through collections of garbage', async (_name, end) => {
      expect(await play(over, end, method, `${ROUNDS}`, '0')).toEqual({ failed: ROUNDS })
      expect(await play(over, end, method, '5', '3')).toEqual({ failed: 5 })
    })
  })
})
