/**
 * All micro benchmarks, one after another; with names, only those: `npm run bench:micro -- queue clock --time 200`.
 */
import { benchmarks, load } from './benchmarks.mjs'
import { print, printHead, readOptions } from './harness.mjs'

const { names: asked, budget } = readOptions()
const unknown = asked.filter((name) => !benchmarks.includes(name))
if (unknown.length > 0) throw new Error(`There is no ${unknown.join(', ')}, but ${benchmarks.join(', ')}`)

const names = asked.length > 0 ? asked : benchmarks
printHead()
for (const [index, name] of names.entries()) {
  process.stderr.write(`${index + 1} of ${names.length}: ${name}\n`)
  await print(await load(name), budget)
}
