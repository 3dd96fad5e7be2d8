/** A file of jest's tests: its environment is a realm of its own. */
import { expect, jest, test } from '@jest/globals'
import { BASICS, runBasics } from './basics.ts'

const { ORIGIN, FAKES } = Object(globalThis)

test.each(['node', 'wire'])('the basics on engine %s', async (engine) => {
  if (FAKES === 'late') jest.useFakeTimers()
  expect(await runBasics(ORIGIN, engine)).toEqual(BASICS)
})
