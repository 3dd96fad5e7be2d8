/**
 * The engines by their names.
 *
 * @module
 */

import type { EngineName } from '../../types/engine.ts'
import type { Engine, EngineSource } from './engine.ts'
import { nodeEngine } from './node/node-engine.ts'

/** Its module is loaded when a session first needs it: most users never do, and a bundler leaves it out of what a program begins with. */
class WireSource implements EngineSource {
  engine: Engine | null = null

  async load(): Promise<Engine> {
    const { wireEngine } = await import('./wire/wire-engine.ts')
    this.engine = wireEngine
    return wireEngine
  }
}

const SOURCES: Readonly<Record<EngineName, EngineSource>> = {
  node: { engine: nodeEngine, load: () => Promise.resolve(nodeEngine) },
  // As there is one of each module in a process, there is one of this.
  wire: new WireSource(),
}

/** Where to get the engine of this name from. */
export function toEngineSource(name: EngineName): EngineSource {
  return SOURCES[name]
}
