/** All micro benchmarks, one after another; with names, only those: `npm run bench:micro -- headers decode --time 200`. */
import { readOptions, runMain, UsageError } from '../../scripts/options.mjs'
import { benchmarks, load, print, printHead } from './harness.mjs'

const help = `Compares each optimization with the obvious way: nanoseconds (median), margin of error of the mean, ratio to ours.

  npm run bench:micro -- [names] [options]
  --time MS   for each way, in milliseconds (default: 500)

There are: ${benchmarks.join(', ')}.
`

await runMain(async () => {
  const options = readOptions(help, true)
  const budget = Number(options.text('time') ?? 500)
  if (!(budget > 0))
    throw new UsageError(`--time takes milliseconds, such as 500, and no ${options.text('time')}`)
  const unknown = options.positionals.filter((name) => !benchmarks.includes(name))
  if (unknown.length > 0)
    throw new UsageError(`There is no ${unknown.join(', ')}, but ${benchmarks.join(', ')}`)
  const names = options.positionals.length > 0 ? options.positionals : benchmarks
  printHead()
  for (const [index, name] of names.entries()) {
    process.stderr.write(`${index + 1} of ${names.length}: ${name}\n`)
    await print(await load(name), budget)
  }
})
