/**
 * The engines by their names.
 *
 * @module
 */

import type { EngineName } from '../../types/engine.ts'
import { DodiciError } from '../errors/errors.ts'
import type { ResolvedClientOptions } from '../options/options.ts'
import { mayRunNodeEngine } from './connect/socket.ts'
import type { Engine, EngineSource } from './engine.ts'

/**
 * Its module is loaded when a session first needs it: most programs use one engine, so bundlers keep the other one
 * out of the initial code.
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

/**
 * Engine 'node' for Node's own sockets, and engine 'wire' for any other Duplex that a connect function returns: over
 * a Duplex, a legal peer can make node:http2 end the process (`ERR_INTERNAL_ASSERTION` in `JSStreamSocket`,
 * docs/engines.md).
 *
 * Both are loaded before connecting: nothing would notice the end of a Duplex that waits for its engine.
 */
class EngineBySocket implements EngineSource {
  readonly #node: EngineSource
  readonly #wire: EngineSource

  constructor(node: EngineSource, wire: EngineSource) {
    this.#node = node
    this.#wire = wire
  }

  use(onLoaded: (engine: Engine) => void, onFailed: (error: DodiciError) => void): void {
    const toEngine = (node: Engine, wire: Engine): Engine => ({
      connect: (context, socket, windows, owner) =>
        (mayRunNodeEngine(socket) ? node : wire).connect(context, socket, windows, owner),
    })
    this.#node.use((node) => this.#wire.use((wire) => onLoaded(toEngine(node, wire)), onFailed), onFailed)
  }
}

/** One of each per process, like their modules. */
const SOURCES: Readonly<Record<EngineName, EngineSource>> = {
  node: new LateEngine('node', async () => (await import('./node/node-engine.ts')).nodeEngine),
  wire: new LateEngine('wire', async () => (await import('./wire/wire-engine.ts')).wireEngine),
}

const BY_SOCKET = new EngineBySocket(SOURCES.node, SOURCES.wire)

/** Where a client gets its engine from. */
export function toEngineSource({
  connect,
  engine,
  isEngineGiven,
}: Pick<ResolvedClientOptions, 'connect' | 'engine' | 'isEngineGiven'>): EngineSource {
  // Without a connect function, every socket is made by the dialer.
  const mayBeDuplex = typeof connect === 'function' && engine === 'node' && !isEngineGiven
  return mayBeDuplex ? BY_SOCKET : SOURCES[engine]
}
