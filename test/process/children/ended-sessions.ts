/**
 * Sessions that end before the server has acknowledged SETTINGS: writes how many of them can't be collected as garbage.
 */
import http2 from 'node:http2'
import { createServer } from 'node:net'
import { Client } from '../../../src/index.ts'
import { frames } from '../../../src/testing/frames.ts'
import { NO_ERROR } from '../../support/peers/error-codes.ts'

/** How a server ends its connections, once a request has come. */
const ENDS = {
  FIN: (): Buffer[] => [],
  GOAWAY: (): Buffer[] => [frames.goAway(0, NO_ERROR)],
}

const COUNT = 20

async function countLeft(end: keyof typeof ENDS): Promise<number> {
  const server = createServer((socket) => {
    socket.on('error', () => {})
    socket.write(frames.settings())
    socket.once('data', () => {
      for (const piece of ENDS[end]()) socket.write(piece)
      socket.end()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('It has no port')
  const refs: WeakRef<object>[] = []
  const { connect } = http2
  http2.connect = function (this: unknown, ...given: unknown[]) {
    const session = Reflect.apply(connect, this, given)
    refs.push(new WeakRef(session))
    return session
  } as typeof connect
  for (let i = 0; i < COUNT; i++) {
    const client = new Client(`http://127.0.0.1:${address.port}`, { engine: 'node' })
    await client.request({ path: '/', method: 'POST', body: 'body' }).catch(() => {})
    await client.destroy()
  }
  http2.connect = connect
  await new Promise((resolve) => server.close(resolve))
  // Node lets go of its own halves some turns later.
  const countThere = (): number => refs.filter((ref) => ref.deref() !== undefined).length
  // A look at a WeakRef keeps its target for the rest of the turn.
  const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
  for (let i = 0; i < 100 && countThere() > 0; i++) {
    await turn()
    globalThis.gc?.()
    await turn()
  }
  if (refs.length < COUNT) throw new Error(`Only ${refs.length} sessions were opened`)
  return countThere()
}

const left: Record<string, number> = {}
for (const end of Object.keys(ENDS) as (keyof typeof ENDS)[]) left[end] = await countLeft(end)
process.stdout.write(JSON.stringify(left))
