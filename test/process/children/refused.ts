/** Only a request keeps the process alive: the server refuses it, and it waits before it is retried. */
import { Client } from '../../../src/index.ts'
import { report, toResources } from './report.ts'

const [, , end = '', origin = ''] = process.argv
const client = new Client(origin)
const abort = new AbortController()
const response = client.request({ path: '/', method: 'GET', signal: abort.signal })

/** Whether a timer keeps the process alive. */
function isStaying(): boolean {
  return toResources().includes('Timeout')
}

/** Runs from turn to turn, as long as there is something to read. */
function abortWaiting(): void {
  const { connected, pending } = client.stats
  // While it connects there is another timer.
  if (!connected || pending === 0 || !isStaying()) {
    setImmediate(abortWaiting)
    return
  }
  abort.abort()
  report({ pending, left: client.stats.pending, isStaying: isStaying() })
}

if (end === 'aborted') abortWaiting()
try {
  await response
} catch (error) {
  const { name, attempts } = Object(error)
  report({ name, attempts })
}
