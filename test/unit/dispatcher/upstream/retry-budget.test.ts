import { describe, expect, it } from 'vitest'
import { RetryBudget } from '../../../../src/dispatcher/upstream/retry-budget.ts'

/** How many retries are allowed now. */
function drain(budget: RetryBudget, now: number): number {
  let allowed = 0
  while (budget.spend(now)) allowed++
  return allowed
}

function deposit(budget: RetryBudget, calls: number, now: number): void {
  for (let i = 0; i < calls; i++) budget.deposit(now)
}

describe('RetryBudget', () => {
  it('is a share of the calls', () => {
    const budget = new RetryBudget({ percent: 20, minPerSecond: 0 })
    deposit(budget, 1_000, 5_000)
    expect(drain(budget, 5_000)).toBe(200)
  })

  it('is so many a second at least, over ten seconds', () => {
    const budget = new RetryBudget({ percent: 20, minPerSecond: 10 })
    expect(drain(budget, 5_000)).toBe(100)
    deposit(budget, 400, 5_000)
    expect(drain(budget, 5_000)).toBe(0)
    deposit(budget, 200, 5_000)
    expect(drain(budget, 5_000)).toBe(20)
  })

  it('is that of the last ten seconds', () => {
    const budget = new RetryBudget({ percent: 50, minPerSecond: 0 })
    deposit(budget, 100, 0)
    expect(drain(budget, 4_000)).toBe(50)
    deposit(budget, 100, 9_999)
    expect(drain(budget, 9_999)).toBe(50)
    // The calls of the first second are over, the retries for them aren't.
    expect(drain(budget, 10_000)).toBe(0)
    expect(drain(budget, 14_000)).toBe(0)
    deposit(budget, 100, 18_999)
    expect(drain(budget, 18_999)).toBe(50)
  })

  it('forgets all in a pause of ten seconds', () => {
    const budget = new RetryBudget({ percent: 100, minPerSecond: 1 })
    deposit(budget, 500, 0)
    expect(drain(budget, 0)).toBe(500)
    expect(drain(budget, 1_000_000)).toBe(10)
  })

  it('may be nothing at all', () => {
    const budget = new RetryBudget({ percent: 0, minPerSecond: 0 })
    deposit(budget, 100, 0)
    expect(drain(budget, 0)).toBe(0)
  })
})
