/**
 * The relay between the soak and the real servers, in a process of its own. Its argument is `{ seed, servers: { name, port }[] }`.
 * Each server gets two ports of the relay, one with faults and one without. It sends them as a message, each beginning and end
 * of a fault, and its counts for each message `tally`.
 */
import { once } from 'node:events'
import { makeRandom } from '../../random.mjs'
import { serveParent } from '../ward.mjs'
import { Lane } from './lane.mjs'

/** @type {{ seed: number, servers: { name: string, port: number }[] }} */
const { seed, servers } = JSON.parse(process.argv[2] ?? '{}')
const random = makeRandom(seed)

/** @param {Lane} lane @returns {Promise<number>} */
async function listen({ server }) {
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  return address.port
}

const lanes = servers.map(({ name, port }) => ({
  name,
  faulty: new Lane(name, port, makeRandom(random.fork()), (event) => process.send?.(event)),
  clean: new Lane(name, port, random, () => {}),
}))
const ports = await Promise.all(
  lanes.map(async ({ name, faulty, clean }) => ({
    name,
    faulty: await listen(faulty),
    clean: await listen(clean),
  })),
)
serveParent(() => ({
  // What a connection without faults has shown counts all the more.
  lanes: lanes.flatMap(({ faulty, clean }) => [
    { name: faulty.name, ...faulty.tally },
    { name: `${clean.name}, without faults`, ...clean.tally },
  ]),
}))
process.send?.({ ports })
for (const { faulty } of lanes) faulty.start()
