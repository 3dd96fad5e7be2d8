/**
 * Fetches with signals that only their controllers refer to, collects garbage, fires, and reports how the fetches
 * ended.
 */
import { Agent, fetch } from '../../../src/index.ts'
import { listenPeer } from '../../support/peers/peer.ts'
import { report } from './report.ts'

/** Turns of the event loop, with a collection each. */
const TURNS = 10

const peer = await listenPeer({
  onRequest(stream) {
    if (stream.path === '/headless') return
    stream.head(200)
    stream.data('begun')
  },
})
const dispatcher = new Agent({ h2c: true })

async function collect(): Promise<void> {
  if (globalThis.gc === undefined) throw new Error('Run it with --expose-gc')
  for (let turn = 0; turn < TURNS; turn++) {
    await new Promise((resolve) => setImmediate(resolve))
    globalThis.gc()
  }
}

/** Each begins a fetch that a controller can end. */
const fetches: Readonly<Record<string, (path: string, signal: AbortSignal) => Promise<Response>>> = {
  signal: (path, signal) => fetch(`${peer.origin}${path}`, { dispatcher, signal }),
  any: (path, signal) => {
    const both = AbortSignal.any([signal, new AbortController().signal])
    return fetch(`${peer.origin}${path}`, { dispatcher, signal: both })
  },
  // undici's Request holds its own controller, which follows the signal weakly.
  request: (path, signal) => fetch(new Request(`${peer.origin}${path}`, { signal }), { dispatcher }),
}

/** The reason, once the fetch has failed; `'nothing'` if it hasn't a round trip later. */
async function toTold(promise: Promise<unknown>): Promise<unknown> {
  const late = peer.connection(0).ping()
  return Promise.race([promise.catch((reason: unknown) => reason), late.then(() => 'nothing')])
}

const told: Record<string, unknown> = {}
for (const [name, begin] of Object.entries(fetches)) {
  for (const path of ['/headless', '/body']) {
    const controller = new AbortController()
    const before = peer.requests.length
    const fetched = begin(path, controller.signal)
    await peer.waitFor(() => peer.requests.length > before)
    const text = path === '/body' ? (await fetched).text() : fetched
    await collect()
    controller.abort('enough')
    told[`${name} ${path}`] = await toTold(text)
  }
}
report(told)
await dispatcher.destroy()
await peer.close()
