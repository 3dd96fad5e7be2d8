import { readFileSync } from 'node:fs'
import { clientNamed } from './clients/index.mjs'

/**
 * What a process needs to know to open one client and to send its requests.
 *
 * @typedef {object} ClientJob
 * @property {string} client
 * @property {string} api
 * @property {string | null} entry the file of a build to load in place of the client's package
 * @property {string[]} origins
 * @property {string | null} caFile
 * @property {string} path
 * @property {string} method
 * @property {string} authority where a tunnel shall lead to
 * @property {number} bodyBytes
 * @property {boolean} isStreamed the body is sent from a Readable
 * @property {number | null} connections to each origin; null: as many as the client likes
 * @property {number} maxStreams
 */

/**
 * Opens the client of a job.
 *
 * @param {ClientJob} job
 */
export async function openJob(job) {
  const { engine, label, load } = clientNamed(job.client)
  if (load === undefined) throw new Error(`${label} is another program`)
  const { open } = await load()
  const client = await open(job.origins, {
    connections: job.connections ?? 1,
    maxStreams: job.maxStreams,
    ca: job.caFile === null ? undefined : readFileSync(job.caFile, 'utf8'),
    engine,
    api: job.api,
    entry: job.entry,
  })
  const start = client.apis[job.api]
  if (start === undefined) throw new Error(`${label} has no API ${job.api}`)
  return { client, start, targets: toTargets(job) }
}

/**
 * @param {ClientJob} job
 * @returns {import('./clients/index.mjs').Target[]} one for each origin
 */
function toTargets({ origins, path, method, authority, bodyBytes, isStreamed }) {
  const body = bodyBytes === 0 ? null : Buffer.alloc(bodyBytes, 'a')
  return origins.map((origin) => ({
    // A client that was opened for one origin is told it once.
    origin: origins.length === 1 ? undefined : origin,
    path,
    url: `${origin}${path}`,
    method,
    body,
    isStreamed: isStreamed && body !== null,
    authority,
  }))
}
