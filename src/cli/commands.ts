/**
 * All commands, in the order of the help.
 *
 * A command that needs the client loads it when it runs, by `await import('../index.ts')`: the others start without it.
 *
 * @module
 */

import { ca } from './certificates/ca.ts'
import type { Command } from './command.ts'
import { faults } from './faults/faults.ts'
import { inspect } from './inspect/inspect.ts'
import { load } from './load/load.ts'
import { serve } from './serve/serve.ts'

export const COMMANDS: readonly Command[] = [inspect, load, serve, faults, ca]
