/**
 * The engines by their names.
 *
 * @module
 */

import type { EngineName } from '../../types/engine.ts'
import { DodiciError } from '../errors.ts'
import type { Engine, EngineSource } from './engine.ts'

/**
 * Its module is loaded when a session first needs it: most programs use one engine, and a bundler leaves the other one
 * out of what they begin with.
 */
class LateEngine implements EngineSource {
  readonly #name: EngineName
  readonly #load: () => Promise<Engine>
  /** Null before it is loaded. */
  #engine: Engine | null = null

  constructor(name: EngineName, load: () => Promise<Engine>) {
    this.#name = name
    this.#load = load
  }

  use(onLoaded: (engine: Engine) => void, onFailed: (error: DodiciError) => void): void {
    if (this.#engine !== null) {
      onLoaded(this.#engine)
      return
    }
    this.#load().then(
      (engine) => {
        this.#engine = engine
        onLoaded(engine)
      },
      (cause) => onFailed(new DodiciError(`Engine '${this.#name}' can't be loaded`, { cause })),
    )
  }
}

/** As there is one of each module in a process, there is one of each of these. */
const SOURCES: Readonly<Record<EngineName, EngineSource>> = {
  node: new LateEngine('node', async () => (await import('./node/node-engine.ts')).nodeEngine),
  wire: new LateEngine('wire', async () => (await import('./wire/wire-engine.ts')).wireEngine),
}

/** Where to get the engine of this name from. */
export function toEngineSource(name: EngineName): EngineSource {
  return SOURCES[name]
}
