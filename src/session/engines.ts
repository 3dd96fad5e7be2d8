/**
 * The engines by their names.
 *
 * @module
 */

import type { EngineName } from '../../types/engine.ts'
import type { Engine, EngineSource } from './engine.ts'

/** Its module is loaded when a session first needs it: most programs use one engine, and a bundler leaves the other out of what they begin with. */
class LateEngine implements EngineSource {
  engine: Engine | null = null
  readonly #import: () => Promise<Engine>

  constructor(load: () => Promise<Engine>) {
    this.#import = load
  }

  async load(): Promise<Engine> {
    this.engine = await this.#import()
    return this.engine
  }
}

/** As there is one of each module in a process, there is one of each of these. */
const SOURCES: Readonly<Record<EngineName, EngineSource>> = {
  node: new LateEngine(async () => (await import('./node/node-engine.ts')).nodeEngine),
  wire: new LateEngine(async () => (await import('./wire/wire-engine.ts')).wireEngine),
}

/** Where to get the engine of this name from. */
export function toEngineSource(name: EngineName): EngineSource {
  return SOURCES[name]
}
