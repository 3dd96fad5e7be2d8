/**
 * The relay between the soak and the real servers, in a separate process. Its argument is `{ seed, servers: { name, port }[] }`. Each server
 * gets two ports of the relay, one with faults and one without. It tells the beginning and the end of each fault.
 */
import { once } from 'node:events'
import { serve, tell } from '../../child.mjs'
import { portOf } from '../../processes.mjs'
import { makeRandom } from '../../random.mjs'
import { Lane } from './lane.mjs'

/** @type {{ seed: number, servers: { name: string, port: number }[] }} */
const { seed, servers } = JSON.parse(process.argv[2] ?? '{}')
const random = makeRandom(seed)
const lanes = servers.map(({ name, port }) => ({
  name,
  faulty: new Lane(name, port, makeRandom(random.fork()), tell),
  clean: new Lane(`${name}, without faults`, port, random, () => {}),
}))

/** @param {Lane} lane @returns {Promise<number>} its port */
async function listen({ server }) {
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return portOf(server)
}

const methods = {
  async listen() {
    const ports = lanes.map(async ({ name, faulty, clean }) => ({
      name,
      faulty: await listen(faulty),
      clean: await listen(clean),
    }))
    for (const { faulty } of lanes) faulty.start()
    return await Promise.all(ports)
  },
  // What a connection without faults has shown counts all the more.
  tally: () =>
    lanes.flatMap(({ faulty, clean }) => [faulty, clean]).map(({ name, tally }) => ({ name, ...tally })),
}
serve(methods)

/** @typedef {typeof methods} Methods */
