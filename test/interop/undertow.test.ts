import { expect, it } from 'vitest'
import { describeScene, post, toBytes, toPieces, toSum } from './scene-cases.ts'

describeScene('Undertow', (rig) => {
  // In some rounds it keeps the connection window that an unread body took, for ever. It ends a connection with 200
  // RST_STREAM in half a minute (MAX_RST_FRAMES_PER_WINDOW): ten rounds have a hundred.
  it('takes an upload after it has responded to many before it read them', async () => {
    const client = rig.toClient({ headersTimeout: 10_000 })
    const unread = toBytes(1_000_000)
    const body = toBytes(200_000)
    for (let round = 0; round < 10; round++) {
      const early = Array.from({ length: 10 }, () => post(client, '/early', toPieces(unread)))
      expect(new Set(await Promise.all(early))).toEqual(new Set(['413 too much']))
      expect(await post(client, '/up', body)).toBe(`200 ${toSum(body)}`)
    }
    expect(client.stats).toMatchObject({ running: 0, size: 0, ended: { lost: 0 } })
  })

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
