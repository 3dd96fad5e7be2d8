import { describe, expect, it } from 'vitest'
import { MISDIRECTED_AGE, MisdirectedOrigins } from '../../../../src/session/sharing/misdirected-origins.ts'
import { FakeClock } from '../../../support/clocks/fake-clock.ts'

describe('origins that have got a 421', () => {
  it('are known for an hour after the last one', () => {
    const clock = new FakeClock()
    const origins = new MisdirectedOrigins(clock)
    expect(origins.has('https://a.test')).toBe(false)
    origins.add('https://a.test')
    origins.add('https://b.test')
    clock.advance(MISDIRECTED_AGE - 1)
    origins.add('https://b.test')
    expect([origins.has('https://a.test'), origins.has('https://c.test')]).toEqual([true, false])
    clock.advance(1)
    expect([origins.has('https://a.test'), origins.has('https://b.test')]).toEqual([false, true])
  })

  it('are a thousand at most: the oldest is forgotten first', () => {
    const origins = new MisdirectedOrigins(new FakeClock())
    for (let i = 0; i < 1_000; i++) origins.add(`https://o${i}.test`)
    // It is the newest now.
    origins.add('https://o0.test')
    origins.add('https://more.test')
    const known = ['o0', 'o1', 'o2', 'o999', 'more'].map((name) => origins.has(`https://${name}.test`))
    expect(known).toEqual([true, false, true, true, true])
  })
})
