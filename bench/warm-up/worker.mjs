/** Sends requests from the first one on, and writes the CPU time of each stretch of them, in microseconds a request, as JSON. */
import { openJob } from '../e2e/job.mjs'
import { Load } from '../e2e/load.mjs'

/** @type {import('../e2e/job.mjs').ClientJob & { ends: number[] }} */
const job = JSON.parse(process.argv[2])
const { start, targets } = await openJob(job)
const { inFlight, responseBytes, ends } = job
const load = new Load(start, { targets, inFlight, responseBytes, pattern: 'steady' })

/** @type {number[]} */
const micros = []
let begin = 0
for (const end of ends) {
  const before = process.cpuUsage()
  await load.run(end - begin)
  const { user, system } = process.cpuUsage(before)
  micros.push((user + system) / (end - begin))
  begin = end
}
process.stdout.write(JSON.stringify(micros), () => process.exit())
