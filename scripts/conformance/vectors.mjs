/**
 * How many vectors there are, of each source.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '../..')

/** Those of this repository, and those that are read where they are found beside it. */
const FOLDERS = { ours: 'test/protocol/vectors', published: '../shared/vectors' }

/** @returns {import('./page.mjs').Vectors[]} */
export function toVectors() {
  return Object.entries(FOLDERS).flatMap(([whose, folder]) => {
    const path = join(root, folder)
    if (!existsSync(path)) return []
    const read = (/** @type {string} */ file) => JSON.parse(readFileSync(join(path, file), 'utf8'))
    const frames = { source: `frames, ${whose}`, blocks: read('frames/frames.json').length }
    const files = readdirSync(join(path, 'hpack')).filter((file) => file.endsWith('.json'))
    return [frames, ...files.sort().map((file) => toHpack(`HPACK, ${whose}: ${file}`, read(`hpack/${file}`)))]
  })
}

/** @param {string} source @param {{ cases: { headers: unknown[] }[] }[]} stories */
function toHpack(source, stories) {
  const cases = stories.flatMap((story) => story.cases)
  return { source, blocks: cases.length, fields: cases.reduce((sum, { headers }) => sum + headers.length, 0) }
}
