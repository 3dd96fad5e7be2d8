import { expect, it } from 'vitest'
import { comesDown, describeScene } from './scene-cases.ts'

describeScene('Bun', (rig) => {
  // It acknowledges a SETTINGS_INITIAL_WINDOW_SIZE, and doesn't apply it to streams that are open.
  it('sends a body of 10 MB, of which none stalls', async () => {
    const client = rig.toClient()
    expect(await comesDown(client, 10_000_000)).toBe(true)
    expect(await Promise.all([comesDown(client, 10_000_000), comesDown(client, 10_000_000)])).toEqual([
      true,
      true,
    ])
  })
})
