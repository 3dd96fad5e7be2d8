import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { bundle } from '../support/clients/bundled.ts'
import { runNode } from '../support/clients/child.ts'
import { toRounds } from '../support/clocks/sample.ts'

const toPath = bundle({ dodici: new URL('../../src/index.ts', import.meta.url) })
const SOAK = fileURLToPath(new URL('../../scripts/soak.mjs', import.meta.url))

/** Far below the 75 seconds that a lost connection would take to be noticed, and far above what a busy machine makes of 2. */
const WITHIN = ['--within', '20']

/** How long there is load. Seconds. */
const SECONDS = `${toRounds(6, 4)}`

interface Played {
  readonly stdout: string
  /** Of both engines. */
  find(pattern: RegExp): string[]
}

/** `npm run soak -- --scene NAME` plays the same for longer, with more calls. */
async function play(scene: string, ...args: string[]): Promise<Played> {
  const common = ['--scene', scene, '--seed', '7', '--dodici', toPath('dodici'), ...WITHIN]
  const { code, signal, stdout, stderr } = await runNode('--expose-gc', SOAK, ...common, ...args)
  // It tells what was wrong there.
  expect(stdout.match(/^Nothing was wrong\.$/gm), stdout).toHaveLength(2)
  expect(stderr).toBe('')
  expect([code, signal]).toEqual([0, null])
  return { stdout, find: (pattern) => stdout.match(pattern) ?? [] }
}

it('a sender loses and doubles no notification when its server is killed, resets streams and retires connections', async () => {
  const { find } = await play('sender', '--requests', '5000', '--at-a-time', '300', '--kills', '2')
  expect(find(/^After 2 restarts, until the new server had served a call/gm)).toHaveLength(2)
  expect(find(/ 0 doubled, 0 lost$/gm)).toHaveLength(2)
})

it('a gateway gets over restarts of its origin, and leaves no stream of a vanished client behind', async () => {
  const { find } = await play('gateway', '--at-a-time', '60', '--kills', '2', '--seconds', SECONDS)
  expect(find(/^After 2 restarts, until the slowest response had begun/gm)).toHaveLength(2)
  expect(find(/ [1-9]\d* whose client vanished, /g)).toHaveLength(2)
})

it('an UpstreamPool whose servers are killed in turn serves calls all the time', async () => {
  const { find } = await play('pool', '--at-a-time', '60', '--kills', '3', '--seconds', SECONDS)
  expect(find(/^After 3 restarts, until the last call had settled/gm)).toHaveLength(2)
})

it('an UpstreamPool whose servers are killed, slow and fail in turn loses no call that another one could serve', async () => {
  const { find } = await play('upstreams', '--at-a-time', '40', '--seconds', `${toRounds(10, 6)}`)
  expect(find(/ extra requests for [1-9]\d* calls /g)).toHaveLength(4)
})

it('a Pool whose sessions are replaced each second fails no call', async () => {
  const { find } = await play('ages', '--seconds', `${toRounds(6, 4)}`)
  expect(find(/^[1-9]\d* sessions were replaced for their age/gm)).toHaveLength(2)
})

it('slow servers, stalled readers and a server that stands still cost no call and no connection', async () => {
  const { find } = await play('patience', '--seconds', `${toRounds(8, 6)}`)
  expect(find(/ through [1-9]\d* suspensions; /g)).toHaveLength(2)
})
