/**
 * Node 20 locks a key that it exports as a JWK, and a garbage collection within that export, which finds the job that
 * has generated the key, waits for the lock for ever: `dodici` hung before it had sent anything.
 */
import { expect, it } from 'vitest'
import { bundle } from '../support/clients/bundled.ts'
import { runNodeWith } from '../support/clients/child.ts'

const toPath = bundle({ 'key-ids': new URL('children/key-ids.ts', import.meta.url) }, true)

it('keys are named while they are generated and collected', async () => {
  // The less room there is, the more collections.
  const { code, stdout, stderr } = await runNodeWith(['--max-semi-space-size=1'], toPath('key-ids'))
  expect([code, stdout, stderr]).toEqual([0, '20000', ''])
})
