import { describe, expect, it } from 'vitest'
import { TokenBucket } from '../../../src/core/token-bucket.ts'

/** How many tokens it gives, one after the other. */
function drain(bucket: TokenBucket): number {
  let count = 0
  while (bucket.take()) count++
  return count
}

describe('TokenBucket', () => {
  it('is full at first, and gives so many at once', () => {
    expect(drain(new TokenBucket(10, 2, 5_000))).toBe(10)
  })

  describe('when time has passed', () => {
    it('gives nothing of it before it is refilled', () => {
      const bucket = new TokenBucket(10, 2, 0)
      drain(bucket)
      expect(bucket.take()).toBe(false)
      bucket.refill(3_000)
      expect(drain(bucket)).toBe(6)
    })

    it('counts fractions, from one refill to the next', () => {
      const bucket = new TokenBucket(10, 2, 0)
      drain(bucket)
      const counts = [400, 800, 1_200, 1_600, 2_000].map((now) => {
        bucket.refill(now)
        return drain(bucket)
      })
      expect(counts).toEqual([0, 1, 1, 1, 1])
    })

    it('never becomes more than full', () => {
      const bucket = new TokenBucket(10, 2, 0)
      drain(bucket)
      bucket.refill(3_600_000)
      expect(drain(bucket)).toBe(10)
    })
  })

  describe('when more is asked for than it has', () => {
    it('gives none, and keeps what it has', () => {
      const bucket = new TokenBucket(10, 2, 0)
      expect([bucket.take(7.5), bucket.take(2.75), bucket.take(2.5), bucket.take(0.25)]).toEqual([
        true,
        false,
        true,
        false,
      ])
    })
  })

  describe('when tokens are earned', () => {
    it('has them on top of what was left', () => {
      const bucket = new TokenBucket(10, 2, 0)
      bucket.take(8)
      bucket.earn(3)
      expect(drain(bucket)).toBe(5)
    })

    it('takes none when it is full; the last ones may make it more than full, until the next refill', () => {
      const bucket = new TokenBucket(10, 2, 0)
      bucket.earn(5)
      bucket.take()
      for (let count = 0; count < 3; count++) bucket.earn(5)
      expect(bucket.take(14)).toBe(true)
      bucket.earn(12)
      bucket.refill(0)
      expect(drain(bucket)).toBe(10)
    })
  })
})
