import { expect, it } from 'vitest'
import { describeScene, post, toBytes, toSum } from './scene-cases.ts'

describeScene('Undertow', (rig) => {
  // On engine node nghttp2 sends a frame of each body in turn, and such calls end by their limits: docs/engines.md.
  if (rig.engine === 'node') return
  // It has sixteen threads, each blocked by one body, and a connection window of 65,535 octets: one that is full of the
  // beginnings of other bodies never opens again.
  it.each([
    { count: 40, size: 50_000 },
    { count: 100, size: 10_000 },
  ])('takes $count bodies of $size octets at once', async ({ count, size }) => {
    const client = rig.toClient({ headersTimeout: 10_000 })
    const body = toBytes(size)
    for (let round = 0; round < 3; round++) {
      const calls = Array.from({ length: count }, () => post(client, '/up', body).catch(String))
      expect(new Set(await Promise.all(calls))).toEqual(new Set([`200 ${toSum(body)}`]))
    }
  })
})
