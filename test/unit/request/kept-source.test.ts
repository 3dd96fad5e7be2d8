import { describe, expect, it } from 'vitest'
import { IteratorSource } from '../../../src/request/chunk-source.ts'
import { KeptReader, KeptSource } from '../../../src/request/kept-source.ts'

type Answer = () => IteratorResult<unknown> | Promise<IteratorResult<unknown>>

const FAILURE = new Error('the source has failed')

const piece = (value: unknown): Answer => {
  return () => ({ done: false, value })
}
const later = (answer: Answer): Answer => {
  return async () => answer()
}
const end: Answer = () => ({ done: true, value: undefined })
const failure: Answer = () => {
  throw FAILURE
}

interface Case {
  readonly name: string
  readonly answers: readonly Answer[]
  /** What a reader gets: the bytes, or the error. */
  readonly outcome: unknown
  /** How often `return()` is called, as by `for await`. */
  readonly returns: number
}

const tooLong = { name: 'RequestContentLengthMismatchError' }
const noBytes = { name: 'TypeError', code: 'ERR_INVALID_ARG_TYPE' }

const CASES: readonly Case[] = [
  { name: 'has ended', answers: [piece('abcd'), end], outcome: 'abcd', returns: 0 },
  { name: 'has ended later', answers: [later(piece('abcd')), later(end)], outcome: 'abcd', returns: 0 },
  { name: 'has thrown at once', answers: [failure], outcome: FAILURE, returns: 0 },
  { name: 'has thrown behind a piece', answers: [piece('ab'), failure], outcome: FAILURE, returns: 0 },
  { name: 'has rejected at once', answers: [later(failure)], outcome: FAILURE, returns: 0 },
  {
    name: 'has rejected behind a piece',
    answers: [piece('ab'), later(failure)],
    outcome: FAILURE,
    returns: 0,
  },
  { name: 'has given no bytes', answers: [piece(1)], outcome: noBytes, returns: 1 },
  { name: 'has given no bytes later', answers: [later(piece(1))], outcome: noBytes, returns: 1 },
  { name: 'has given too much', answers: [piece('abcde')], outcome: tooLong, returns: 1 },
  {
    name: 'has given too much later',
    answers: [piece('ab'), later(piece('cde'))],
    outcome: tooLong,
    returns: 1,
  },
]

/** Counts what is called. */
class Asked implements Iterator<unknown> {
  returns = 0
  asked = 0
  readonly #answers: readonly Answer[]

  constructor(answers: readonly Answer[]) {
    this.#answers = answers
  }

  next(): IteratorResult<unknown> {
    const answer = this.#answers[this.asked++]
    if (answer === undefined) throw new Error('asked behind its end')
    return answer() as IteratorResult<unknown>
  }

  return(): IteratorResult<unknown> {
    this.returns++
    return { done: true, value: undefined }
  }
}

async function read(kept: KeptSource): Promise<unknown> {
  const reader = new KeptReader(kept)
  let text = ''
  try {
    for (let result = await reader.next(); result.done !== true; result = await reader.next())
      text += Buffer.from(result.value).toString()
    return text
  } catch (error) {
    return error
  }
}

describe('a source that is kept', () => {
  it.each(CASES)('and $name › return() is called as by for await', async ({ answers, outcome, returns }) => {
    const iterator = new Asked(answers)
    const kept = new KeptSource(() => new IteratorSource(iterator), 4)
    const first = await read(kept)
    if (typeof outcome === 'string' || outcome === FAILURE) expect(first).toBe(outcome)
    else expect(first).toMatchObject(outcome as object)
    expect(iterator.returns).toBe(returns)
    const { asked } = iterator
    // Another attempt, and the end of the call.
    expect(await read(kept)).toEqual(first)
    kept.stop(FAILURE)
    expect(iterator).toMatchObject({ returns, asked })
  })
})
