/**
 * Requests a body larger than what is taken from the peer unread. Reads it late, or never, or closes the dispatcher
 * first.
 */
import { Agent, fetch } from '../../../src/index.ts'
import type { ClientOptions } from '../../../types/index.ts'
import { report } from './report.ts'

const [, , mode = '', origin = '', engine] = process.argv
const dispatcher = new Agent({ h2c: true, engine: engine as ClientOptions['engine'] })
const GET = { origin, path: '/', method: 'GET' } as const
const response = mode === 'request' ? await dispatcher.request(GET) : await fetch(origin, { dispatcher })
if (mode === 'another') {
  // The process waits for this response, although another is unread. Once this one has ended, it needn't stay.
  const small = await fetch(`${origin}/small`, { dispatcher })
  report({ text: await small.text() })
}
if (mode === 'late') {
  // Until the session no longer keeps the process alive: then only these turns do.
  while (process.getActiveResourcesInfo().includes('TCPSocketWrap'))
    await new Promise((resolve) => setImmediate(resolve))
  report({ size: (await (response as Response).arrayBuffer()).byteLength })
}
if (mode === 'closed') {
  await dispatcher.close({ timeout: 300 })
  report({ isClosed: true })
}
// Otherwise it is collected, and its stream reset.
process.on('exit', () => report({ isThere: response !== null }))
