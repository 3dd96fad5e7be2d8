import { connect } from 'node:net'
import { expect, it } from 'vitest'
import type { Connector } from '../../src/index.ts'
import { toRounds } from '../support/clocks/sample.ts'
import { describeScene, post, toBytes } from './scene-cases.ts'
import type { SceneServer } from './scene-servers.ts'

/** POSTs that are in flight at any time. */
const IN_FLIGHT = 50
/** Responses before the server moves, and behind that. */
const BEFORE = 300
const BEHIND = 300
/** POSTs in all: the test ends, and fails, when no response comes any more. */
const MOST = 20_000

/** As a balancer does: to the server that listens by now. */
function toConnector(server: SceneServer): Connector {
  return (_options, callback) => {
    const socket = connect(server.port, '127.0.0.1')
    socket.once('error', (error) => callback(error))
    socket.once('connect', () => callback(null, socket))
  }
}

describeScene('Helidon', (rig) => {
  // Its GOAWAY names stream 0 as the last one, however many it has responded to.
  it.each(
    [1, 2, 3].slice(0, toRounds(3, 1)),
  )('executes no POST twice as it stops under load, and none that says it was not, time %i', async (time) => {
    const { server } = rig
    const client = rig.toClient({ connect: toConnector(server) })
    const from = server.said().length
    const body = toBytes(500)
    const failures: [id: string, processed: unknown][] = []
    let [count, responses, enough] = [0, 0, Number.POSITIVE_INFINITY]
    const work = async (): Promise<void> => {
      while (responses < enough && count < MOST) {
        const id = `${rig.engine}-${time}-${count++}`
        try {
          expect(await post(client, `/take?${id}`, body)).toBe(`200 ${id}`)
          responses++
        } catch (error) {
          failures.push([id, (error as { processed?: unknown }).processed])
        }
      }
    }
    const workers = Array.from({ length: IN_FLIGHT }, work)
    await expect.poll(() => responses).toBeGreaterThan(BEFORE)
    const moved = server.hear(/^moved$/m, from)
    await (await rig.toClient().request({ path: '/move', method: 'POST' })).body.dump()
    await moved
    enough = responses + BEHIND
    await Promise.all(workers)
    expect(responses).toBeGreaterThanOrEqual(enough)

    const taken = [
      ...server
        .said()
        .slice(from)
        .matchAll(/^took (.*)$/gm),
    ].map(([, id]) => id)
    expect(taken.filter((id, index) => taken.indexOf(id) !== index)).toEqual([])
    expect(failures.filter(([id, processed]) => processed === 'no' && taken.includes(id))).toEqual([])
  })
})
