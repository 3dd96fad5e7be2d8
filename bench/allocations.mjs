/** What each of our hot paths allocates for a request, beside what is recorded of it in allocations.json. */
import { readOptions, runMain, UsageError } from '../scripts/options.mjs'
import { judge, RUNS, readRecords, toPercent, writeRecords } from './allocations/gate.mjs'
import { openMeter, pinnedVersion } from './allocations/meter.mjs'
import { bareOf, paths } from './allocations/paths.mjs'
import { median } from './e2e/statistics.mjs'
import { inTurns } from './turns.mjs'

const help = `Measures the bytes of heap that each path allocates for a request, on the pinned Node 24, and compares them with what is recorded; exit
code 1 when it is another figure.

  npm run bench:allocations -- --record
  --record         record
  --paths TEXT     only those with TEXT in their names, such as wire; --record keeps the others
`

/** @param {readonly number[]} figures */
const toBytes = (figures) => Math.round(median(figures))

/** @param {readonly string[]} names @returns {Promise<Map<string, number[]>>} */
async function measureAll(names) {
  const meter = await openMeter()
  try {
    const figures = await inTurns(names, { warmup: 0, rounds: RUNS }, (path) => {
      process.stderr.write(`${path}\n`)
      return meter.measure(path)
    })
    return new Map(names.map((path, index) => [path, figures[index]]))
  } finally {
    await meter.close()
  }
}

/** @param {Map<string, number[]>} figures @param {Readonly<Record<string, number>>} recorded */
function toTable(figures, recorded) {
  return [...figures].map(([path, list]) => {
    const bytes = toBytes(list)
    const bare = toBytes(figures.get(bareOf(path)) ?? [])
    const record = recorded[path]
    return {
      path,
      'bytes a request': bytes,
      'lowest-highest': `${Math.min(...list)}-${Math.max(...list)}`,
      'added to bare node:http2': bytes - bare,
      recorded: record ?? 'nothing',
      change: record === undefined ? '' : toPercent(bytes / record - 1),
    }
  })
}

/**
 * @param {Map<string, number[]>} figures
 * @param {Readonly<Record<string, number>>} recorded what holds for a path that wasn't measured
 * @returns {Record<string, number>} in the order of the paths
 */
function toRecords(figures, recorded) {
  const entries = Object.keys(paths).flatMap((path) => {
    const list = figures.get(path)
    const bytes = list === undefined ? recorded[path] : toBytes(list)
    return bytes === undefined ? [] : [[path, bytes]]
  })
  return Object.fromEntries(entries)
}

await runMain(async () => {
  const options = readOptions(help)
  const text = options.text('paths') ?? ''
  const all = Object.keys(paths)
  if (!all.some((path) => path.includes(text))) throw new UsageError(`--paths: none has ${text} in its name`)
  const recorded = await readRecords()
  // The bare ones are what the others are compared with.
  const figures = await measureAll(all.filter((path) => path === bareOf(path) || path.includes(text)))
  console.table(toTable(figures, recorded.bytes))
  if (options.flag('record')) {
    await writeRecords({ node: await pinnedVersion(), bytes: toRecords(figures, recorded.bytes) })
    process.stdout.write('Recorded.\n')
    return
  }
  for (const [path, list] of figures) {
    const complaint = judge(path, toBytes(list), recorded.bytes[path])
    if (complaint === null) continue
    process.exitCode = 1
    process.stdout.write(`${complaint}\n`)
  }
})
