/** Plays many exchanges side by side, and says which of them were heard otherwise than they have to be. */

import type { Break, Ending, Response } from './cases.ts'
import { toEnding } from './cases.ts'
import type { Play, Stage } from './scene.ts'

/** Exchanges that run side by side. */
const AT_ONCE = 16

/** An exchange, and what its reader may hear. */
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

/** What a reader of a response may hear. What was written before a TCP reset may be lost with it. */
export function toAccepted(response: Response, broken: Break): string[] {
  const outcome = toOutcome(toEnding(response, broken), response)
  return broken.connection === 'reset' ? [outcome, 'error'] : [outcome]
}

/**
 * What a reader of a tunnel may hear. One that the peer has ended is broken all the same while our side is open: whether that is so
 * when the connection ends is a race, but for what comes in one segment.
 */
export function toTunnelAccepted(response: Response, broken: Break): string[] {
  const ended = toOutcome('end', response)
  if (response.completion !== 'END_STREAM') return [broken.ending === 'end' ? ended : 'error']
  return broken.name === 'RST_STREAM with NO_ERROR' ? [ended] : [ended, 'error']
}

/** @returns the cases that went wrong, each with what was heard */
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
