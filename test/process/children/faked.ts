/** Sinon's fake timers, installed before the import or after it, for all of Dodici. */
import { install } from '@sinonjs/fake-timers'
import { report } from './report.ts'

const [, , origin = '', when = ''] = process.argv
// Node's own sockets and streams stand still without these two.
const FAKES = { toNotFake: ['nextTick', 'queueMicrotask'] } as const
let clock = when === 'early' ? install({ ...FAKES, toNotFake: [...FAKES.toNotFake] }) : null
const { runBasics } = await import('./basics.ts')
clock ??= install({ ...FAKES, toNotFake: [...FAKES.toNotFake] })
for (const engine of ['node', 'wire'] as const) report(await runBasics(origin, engine))
report({ timers: clock.countTimers() })
