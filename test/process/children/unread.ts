/** Asks for more than is taken from the peer while nobody reads, and reads it late, or never. */
import { Agent, fetch } from '../../../src/index.ts'
import type { ClientOptions } from '../../../types/index.ts'
import { report } from './report.ts'

const [, , mode = '', origin = '', engine] = process.argv
const dispatcher = new Agent({ h2c: true, engine: engine as ClientOptions['engine'] })
const GET = { origin, path: '/', method: 'GET' } as const
const response = mode === 'request' ? await dispatcher.request(GET) : await fetch(origin, { dispatcher })
if (mode === 'another') {
  // The one that isn't read is no reason not to wait for this one, and this one, once it has ended, none to stay.
  const answer = await fetch(`${origin}/small`, { dispatcher })
  report({ text: await answer.text() })
}
if (mode === 'late') {
  // Until the session has let go of the process: nothing but these turns holds it then.
  while (process.getActiveResourcesInfo().includes('TCPSocketWrap'))
    await new Promise((resolve) => setImmediate(resolve))
  report({ size: (await (response as Response).arrayBuffer()).byteLength })
}
// Otherwise it is collected, and its stream reset.
process.on('exit', () => report({ isThere: response !== null }))
