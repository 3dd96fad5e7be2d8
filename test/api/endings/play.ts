/** Plays many exchanges side by side, and returns those whose reported ending is wrong. */

import type { Break, Ending, Response } from './cases.ts'
import { toEnding } from './cases.ts'
import type { Play, Stage } from './scene.ts'

/** Exchanges that run side by side. */
const AT_ONCE = 16

/** An exchange, and the endings that its reader may report. */
export interface Case extends Play {
  readonly name: string
  readonly accepted: readonly string[]
}

/** A case, named by what is played. */
export function toCase(play: Play, accepted: readonly string[]): Case {
  const cut = typeof play.cut === 'number' ? `cut at byte ${play.cut}` : `in ${play.cut}`
  return { ...play, name: `${play.response.name}, then ${play.broken.name}, ${cut}`, accepted }
}

function toOutcome(ending: Ending, { text }: Response): string {
  return ending === 'end' ? `end: ${text}` : 'error'
}

/** The endings that a reader of a response may report. A TCP reset may lose bytes that were written before it. */
export function toAccepted(response: Response, broken: Break): string[] {
  const outcome = toOutcome(toEnding(response, broken), response)
  return broken.connection === 'reset' ? [outcome, 'error'] : [outcome]
}

/**
 * The endings that a reader of a tunnel may report. A tunnel that the peer has ended can still break while our side is
 * open: whether that happens when the connection ends is a race, unless both come in one segment.
 */
export function toTunnelAccepted(response: Response, broken: Break): string[] {
  const ended = toOutcome('end', response)
  if (response.completion !== 'END_STREAM') return [broken.ending === 'end' ? ended : 'error']
  return broken.name === 'RST_STREAM with NO_ERROR' ? [ended] : [ended, 'error']
}

/** @returns the cases that went wrong, each with the reported ending */
export async function playAll(stage: Stage, cases: readonly Case[]): Promise<string[]> {
  const wrong: string[] = []
  const left = [...cases]
  const playSome = async (): Promise<void> => {
    for (let one = left.shift(); one !== undefined; one = left.shift()) {
      const heard = await stage.play(one)
      const isRight = heard.length === 1 && one.accepted.includes(heard[0] as string)
      if (!isRight)
        wrong.push(`${one.name}: heard ${JSON.stringify(heard)}, not ${one.accepted.join(' or ')}`)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, playSome))
  return wrong
}
