/** Many rounds in one process, one after the other. */

import type { EngineName } from '../../../types/index.ts'
import type { ModelName } from './model-plan.ts'
import { describeModelPlan, toModelPlan } from './model-plan.ts'
import { playModelRound } from './model-round.ts'
import { Port } from './peer.ts'
import { describePlan, toPlan, toPlayable } from './plan.ts'
import { processTime } from './process-time.ts'
import { playRound } from './round.ts'

/** A round that has failed. */
export interface Failure {
  readonly seed: number
  readonly faults: readonly string[]
  readonly plan: string
}

/** Plays rounds, and collects the uncaught errors and warnings of the process. */
export class Player {
  readonly #time = processTime
  readonly #port: Port
  readonly #uncaught = { heard: [] as string[] }

  private constructor(port: Port) {
    this.#port = port
    const hear = (what: string) => (thrown: unknown) => {
      this.#time.touch()
      this.#uncaught.heard.push(`${what}: ${thrown instanceof Error ? thrown.stack : String(thrown)}`)
    }
    this.#time.onThrown = hear('thrown by a timer')
    process.on('uncaughtException', hear('uncaught exception'))
    process.on('unhandledRejection', hear('unhandled rejection'))
    process.on('warning', hear('warning'))
  }

  static async start(): Promise<Player> {
    return new Player(await Port.open())
  }

  /**
   * Null when every check held.
   *
   * @param model null: a peer that says anything at all
   */
  async play(seed: number, engine: EngineName, model: ModelName | null = null): Promise<Failure | null> {
    if (model !== null) return await this.#playModel(seed, engine, model)
    const plan = toPlayable(toPlan(seed, engine))
    const faults = await playRound(plan, this.#time, this.#port, this.#uncaught)
    return faults.length === 0 ? null : { seed, faults, plan: describePlan(plan) }
  }

  async #playModel(seed: number, engine: EngineName, model: ModelName): Promise<Failure | null> {
    const plan = toModelPlan(seed, engine, model)
    const faults = await playModelRound(plan, this.#time, this.#port, this.#uncaught)
    return faults.length === 0 ? null : { seed, faults, plan: describeModelPlan(plan) }
  }

  /** Logs the events of the rounds from here on. */
  log(write: (line: string) => void): void {
    this.#time.onLog = write
  }
}
