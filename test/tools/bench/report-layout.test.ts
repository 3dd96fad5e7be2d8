import { describe, expect, it } from 'vitest'
import { FONTS, toTicks, WIDTH } from '../../../bench/report/svg.mjs'
import { fitText, textWidth, wrapText } from '../../../bench/report/text.mjs'

const font = { size: 10 }

describe('a chart', () => {
  it('is readable where a page leaves it 700 pixels: it is no wider, and no letter is smaller than 12', () => {
    expect(WIDTH).toBeLessThanOrEqual(700)
    expect(Math.min(...Object.values(FONTS).map(({ size }) => size))).toBeGreaterThanOrEqual(12)
  })
})

describe('the ticks of an axis', () => {
  it.each([
    { max: 100, steps: 5, ticks: [0, 20, 40, 60, 80, 100] },
    { max: 104, steps: 6, ticks: [0, 20, 40, 60, 80, 100, 120] },
    { max: 0.3, steps: 3, ticks: [0, 0.1, 0.2, 0.3] },
    { max: 9, steps: 4, ticks: [0, 2.5, 5, 7.5, 10] },
    { max: 52_000, steps: 2, ticks: [0, 50_000, 100_000] },
    { max: 0, steps: 4, ticks: [0, 1] },
  ])('are round, few enough, and reach $max', ({ max, steps, ticks }) => {
    expect(toTicks(max, steps)).toEqual(ticks)
  })
})

describe('the width of text', () => {
  it('grows with its size, its weight and its letters', () => {
    expect(textWidth('', font)).toBe(0)
    expect(textWidth('abc', { size: 20 })).toBeCloseTo(2 * textWidth('abc', font), 10)
    expect(textWidth('abc', { ...font, isBold: true })).toBeGreaterThan(textWidth('abc', font))
    expect(textWidth('WWW', font)).toBeGreaterThan(textWidth('iii', font))
    expect(textWidth('宽宽', font)).toBeGreaterThan(20)
  })
})

describe('text that has to fit', () => {
  it('stays as it is when it does', () => {
    expect(fitText('dodici', 100, font)).toBe('dodici')
  })

  it('loses its middle, and no more of it than it must', () => {
    // Each letter is 6.6 wide, the ellipsis 8.4: six of the letters have room.
    expect(fitText('abcdefghab', 50, font)).toBe('abc…hab')
    expect(fitText('abcdefghab', 42, font)).toBe('abc…ab')
  })

  it('is an ellipsis when there is no room', () => {
    expect(fitText('dodici', 5, font)).toBe('…')
  })

  it('is broken between words, and cut where a word is too long for a line', () => {
    expect(wrapText('one two three', 50, font)).toEqual(['one two', 'three'])
    expect(wrapText(`one ${'x'.repeat(40)}`, 50, font)).toEqual(['one', expect.stringMatching(/^x+…x+$/)])
    expect(wrapText('', 50, font)).toEqual([])
  })
})
