import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { bundle } from '../support/clients/bundled.ts'
import { runNode } from '../support/clients/child.ts'
import { inTurn, toRounds } from '../support/clocks/sample.ts'

const toPath = bundle({ dodici: new URL('../../src/index.ts', import.meta.url) })
const SOAK = fileURLToPath(new URL('../../scripts/soak.mjs', import.meta.url))

/** Far below the 75 seconds that a lost connection would take to be noticed, and far above what a busy machine makes of 2. */
const WITHIN = ['--within', '20']

/** How long there is load. Seconds. */
const SECONDS = `${toRounds(6, 4)}`

/** What each process said. */
type Played = readonly string[]

/**
 * `npm run soak -- --scene NAME` plays the same for longer, with more calls, and for both engines. Here each scene is played to one engine, unless
 * each case is: what the engines have in common is most of it. Each engine has its own process, at the same time.
 */
function play(turn: number, scene: string, ...args: string[]): Promise<Played> {
  const common = ['--scene', scene, '--seed', '7', '--dodici', toPath('dodici'), ...WITHIN]
  return Promise.all(
    inTurn(['node', 'wire'] as const, turn).map(async (engine) => {
      const told = await runNode('--expose-gc', SOAK, '--engine', engine, ...common, ...args)
      const { code, signal, stdout, stderr } = told
      // It tells what was wrong there.
      expect(stdout).toMatch(/^Nothing was wrong\.$/m)
      expect([code, signal, stderr]).toEqual([0, null, ''])
      return stdout
    }),
  )
}

it('a sender loses and doubles no notification when its server is killed, resets streams and retires connections', async () => {
  const played = await play(0, 'sender', '--requests', '5000', '--at-a-time', '300', '--kills', '2')
  for (const stdout of played)
    expect(stdout).toMatch(/^After 2 restarts, until the new server had served a call/m)
  for (const stdout of played) expect(stdout).toMatch(/ 0 doubled, 0 lost$/m)
})

it('a gateway gets over restarts of its origin, and leaves no stream of a vanished client behind', async () => {
  const played = await play(1, 'gateway', '--at-a-time', '60', '--kills', '2', '--seconds', SECONDS)
  for (const stdout of played)
    expect(stdout).toMatch(/^After 2 restarts, until the slowest response had begun/m)
  for (const stdout of played) expect(stdout).toMatch(/ [1-9]\d* whose client vanished, /)
})

it('an UpstreamPool whose servers are killed, slow and fail in turn loses no call that another one could serve', async () => {
  const played = await play(1, 'upstreams', '--at-a-time', '40', '--seconds', `${toRounds(10, 6)}`)
  for (const stdout of played) expect(stdout.match(/ extra requests for [1-9]\d* calls /g)).toHaveLength(2)
})

it('a Pool whose sessions are replaced each second fails no call', async () => {
  const played = await play(1, 'ages', '--seconds', `${toRounds(6, 4)}`)
  for (const stdout of played) expect(stdout).toMatch(/^[1-9]\d* sessions were replaced for their age/m)
})

it('slow servers, stalled readers and a server that stands still cost no call and no connection', async () => {
  const played = await play(0, 'patience', '--seconds', `${toRounds(8, 6)}`)
  for (const stdout of played) expect(stdout).toMatch(/ through [1-9]\d* suspensions; /)
})
