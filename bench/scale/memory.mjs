/** The memory of this process. */
import { getHeapSpaceStatistics } from 'node:v8'

/**
 * @typedef {object} Memory in bytes
 * @property {number} heap used on V8's heap
 * @property {number} external memory of Buffers, and other memory that V8 knows of
 * @property {number} resident
 * @property {number} young what V8 has committed for new objects
 * @property {number} old what it has committed for all others
 */

/** @returns {Memory} */
export function look() {
  const { heapUsed: heap, external, rss: resident } = process.memoryUsage()
  let young = 0
  let old = 0
  for (const { space_name, space_size } of getHeapSpaceStatistics()) {
    if (space_name.startsWith('new')) young += space_size
    else old += space_size
  }
  return { heap, external, resident, young, old }
}

export async function collect() {
  if (globalThis.gc === undefined) throw new Error('it needs --expose-gc')
  // The second collection takes what the finalizers of the first have let go.
  globalThis.gc()
  await new Promise((resolve) => setImmediate(resolve))
  globalThis.gc()
}
