import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { bundle } from '../support/clients/bundled.ts'
import { runNodeWith } from '../support/clients/child.ts'
import { toRounds } from '../support/clocks/sample.ts'

const toPath = bundle({ dodici: new URL('../../src/index.ts', import.meta.url) })
const SOAK = fileURLToPath(new URL('../../scripts/soak.mjs', import.meta.url))

/** A quarter of them is the warm-up. `npm run soak` sends ten times as many. */
const REQUESTS = toRounds(20_000, 8_000)

it('a process with thousands of calls to servers that misbehave settles each once, and leaks nothing', async () => {
  const args = ['--requests', `${REQUESTS}`, '--seed', '12', '--dodici', toPath('dodici')]
  // What threads of V8 haven't swept yet would count as memory that is left: on a busy machine that is much.
  const flags = ['--expose-gc', '--single-threaded-gc']
  const { code, signal, stdout, stderr } = await runNodeWith(flags, SOAK, ...args)
  // It tells what was wrong there, for each engine.
  expect(stdout).not.toContain('WRONG')
  expect(stdout).toMatch(/\nNothing was wrong\.\n$/)
  expect(stdout).toContain(`\n${REQUESTS} calls by `)
  expect(stderr).toBe('')
  expect([code, signal]).toEqual([0, null])
}, 900_000)
