/**
 * Sends requests from the first one on, and writes the CPU time of each stretch of them, in microseconds a request, as JSON.
 */
import { Load } from '../e2e/load.mjs'
import { openJob } from '../e2e/open-job.mjs'

/** @type {import('../e2e/open-job.mjs').ClientJob & { responseBytes: number, inFlight: number, ends: number[] }} */
const job = JSON.parse(process.argv[2] ?? '{}')
const { start, targets } = await openJob(job)
const load = new Load(start, {
  targets,
  inFlight: job.inFlight,
  pattern: 'steady',
  responseBytes: job.responseBytes,
})

/** @type {number[]} */
const micros = []
let begin = 0
for (const end of job.ends) {
  const before = process.cpuUsage()
  await load.run(end - begin)
  const { user, system } = process.cpuUsage(before)
  micros.push((user + system) / (end - begin))
  begin = end
}
process.stdout.write(JSON.stringify(micros), () => process.exit())
