import { expect, it } from 'vitest'
import { comesDown, describeScene, post, toBytes, toSum } from './scene-cases.ts'

describeScene('x/net of 2022', (rig) => {
  // Some 23,000 reads, and two WINDOW_UPDATEs for each.
  it('reads 3 MB by 64 to 200 octets, and responds to others meanwhile', async () => {
    const client = rig.toClient()
    const body = toBytes(3_000_000)
    const sipped = post(client, '/sip', body)
    const others = Array.from({ length: 20 }, () => comesDown(client, 1_000))
    expect(new Set(await Promise.all(others))).toEqual(new Set([true]))
    expect(await sipped).toBe(`200 ${toSum(body)}`)
  })
})
