/** Worker threads of one program. Each has a dispatcher of its own; the first argument says what they do. */

import { once } from 'node:events'
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'
import { Agent, Client, install, fetch as ourFetch, request, uninstall } from '../../../src/index.ts'
import { report, toResources } from './report.ts'

const [, , scene = '', engine = '', origin = ''] = process.argv
const options = engine === 'wire' || engine === 'node' ? ({ engine } as const) : {}

/** Where undici, Node's own too, looks for the dispatcher of a thread. */
const SLOTS = [Symbol.for('undici.globalDispatcher.1'), Symbol.for('undici.globalDispatcher.2')]
const toSlots = (): unknown[] => SLOTS.map((slot) => Reflect.get(globalThis, slot))

function start(role: string): Worker {
  return new Worker(new URL(import.meta.url), { workerData: role, argv: [scene, engine, origin] })
}

/** The bodies of so many requests at once. */
function askFor(count: number, client: Client, path: string, thread: string): Promise<string[]> {
  const headers = { 'x-thread': thread }
  return Promise.all(
    Array.from({ length: count }, async () =>
      (await client.request({ path, method: 'GET', headers })).body.text(),
    ),
  )
}

const post = (message: unknown, transfer: ArrayBuffer[] = []): void =>
  parentPort?.postMessage(message, transfer)

/** What a thread does. It ends by itself: nothing is closed. */
const ROLES: Record<string, () => Promise<void>> = {
  async idle() {
    const client = new Client(origin, options)
    const texts = await askFor(20, client, '/', 'idle')
    post({ texts, connected: client.stats.connected })
  },

  async many() {
    await askFor(100, new Client(origin, options), '/held', 'many')
  },

  async few() {
    post(await askFor(10, new Client(origin, options), '/held', 'few'))
  },

  async installing() {
    const agent = new Agent({ ...options, h2c: true })
    install(agent)
    const text = await (await fetch(`${origin}/`)).text()
    post({ text, ours: toSlots().includes(agent) })
    await new Promise((resolve) => parentPort?.once('message', resolve))
    uninstall()
    post({ ours: toSlots().includes(agent) })
  },

  async looking() {
    // Node's own dispatcher speaks HTTP/1.1 here, and the server doesn't.
    post({ error: await fetch(`${origin}/`).then(String, ({ name }) => name) })
  },

  async transferring() {
    const agent = new Agent({ ...options, h2c: true })
    const ways: Record<string, (url: string, post: (bytes: Uint8Array) => void) => Promise<void>> = {
      async bytes(url, post) {
        post(await (await request(url, { dispatcher: agent })).body.bytes())
      },
      async arrayBuffer(url, post) {
        post(new Uint8Array(await (await request(url, { dispatcher: agent })).body.arrayBuffer()))
      },
      async fetched(url, post) {
        post(await (await ourFetch(url, { dispatcher: agent })).bytes())
      },
      async streamed(url, post) {
        const { body } = await ourFetch(url, { dispatcher: agent })
        for await (const piece of body ?? []) post(piece)
      },
    }
    const sizes = Array.from({ length: 50 }, (_, index) => (index % 10 === 0 ? 0 : (index * 97) % 5_000))
    let detached = 0
    await Promise.all(
      sizes.flatMap((size, index) =>
        Object.entries(ways).map(([way, play], place) => {
          const fill = (index * 4 + place) % 256
          return play(`${origin}/${size}/${fill}`, (bytes) => {
            const { buffer } = bytes
            if (!(buffer instanceof ArrayBuffer)) throw new Error(`${way}: ${buffer}`)
            post({ way, bytes, fill }, [buffer])
            if (bytes.length === 0) detached++
          })
        }),
      ),
    )
    // A piece of a body may be posted uncopied, without a transfer.
    const { body } = await request(`${origin}/100000/7`, { dispatcher: agent })
    for await (const piece of body) post({ way: 'posted', bytes: piece, fill: 7 })
    post({ detached })
  },
}

/** What the main thread does. */
const SCENES: Record<string, () => Promise<void>> = {
  async idle() {
    const thread = start('idle')
    const [[heard], [code]] = await Promise.all([once(thread, 'message'), once(thread, 'exit')])
    report({ ...heard, code })
  },

  async terminated() {
    const client = new Client(origin, options)
    const many = start('many')
    const few = start('few')
    const heard = once(few, 'message')
    const mine = askFor(10, client, '/held', 'main')
    await askFor(1, client, '/arrived', 'main')
    report({ code: await many.terminate() })
    report({ mine: await mine, few: (await heard)[0], again: await askFor(1, client, '/', 'main') })
    if (few.threadId !== -1) await once(few, 'exit')
    await client.close()
  },

  async installed() {
    const before = toSlots()
    const thread = start('installing')
    const [inThread] = await once(thread, 'message')
    const [elsewhere] = await once(start('looking'), 'message')
    const untouched = toSlots().every((slot, place) => slot === before[place])
    const agent = new Agent({ ...options, h2c: true })
    install(agent)
    thread.postMessage('uninstall')
    const [after] = await once(thread, 'message')
    const text = await (await fetch(`${origin}/`)).text()
    report({ inThread, elsewhere, untouched, after, main: { text, ours: toSlots().includes(agent) } })
  },

  async transferred() {
    const thread = start('transferring')
    const counts: Record<string, number> = {}
    const wrong: unknown[] = []
    let detached = 0
    thread.on('message', (message) => {
      if (message.detached !== undefined) detached = message.detached
      else {
        const { way, bytes, fill } = message
        counts[way] = (counts[way] ?? 0) + (way === 'posted' || way === 'streamed' ? bytes.length : 1)
        const isOwn = way === 'posted' || bytes.length === bytes.buffer.byteLength
        const isRight = bytes.every((byte: number) => byte === fill)
        if (!isRight || !isOwn) wrong.push({ way, fill, size: bytes.length, of: bytes.buffer.byteLength })
      }
    })
    const [code] = await once(thread, 'exit')
    report({ code, counts, wrong, detached })
  },
}

if (isMainThread) {
  const before = toResources()
  await SCENES[scene]?.()
  // What the threads held is gone, and the main thread holds nothing for them.
  const left = toResources().filter((name) => !before.includes(name) && name !== 'Immediate')
  report({ left })
} else await ROLES[workerData]?.()
