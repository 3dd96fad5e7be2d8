/**
 * All cases, in the order of the table. A later API becomes one more entry.
 */
import { bodyCases } from './cases/bodies.mjs'
import { callCases } from './cases/calls.mjs'
import { endingCases } from './cases/endings.mjs'
import { extraCases } from './cases/extras.mjs'
import { fetchCases } from './cases/fetch.mjs'
import { streamCases } from './cases/streams.mjs'
import { topLevelCases } from './cases/top-level.mjs'
import { tunnelCases } from './cases/tunnels.mjs'

/** @type {readonly import('./case.mjs').Case[]} */
export const cases = [
  ...callCases,
  ...bodyCases,
  ...extraCases,
  ...streamCases,
  ...endingCases,
  ...topLevelCases,
  ...fetchCases,
  ...tunnelCases,
]
