/**
 * The engines by their names.
 *
 * @module
 */

import type { EngineName } from '../../types/engine.ts'
import type { Engine } from './engine.ts'
import { nodeEngine } from './node/node-engine.ts'
import { wireEngine } from './wire/wire-engine.ts'

const ENGINES: Readonly<Record<EngineName, Engine>> = { node: nodeEngine, wire: wireEngine }

/** The engine of this name. */
export function toEngine(name: EngineName): Engine {
  return ENGINES[name]
}
