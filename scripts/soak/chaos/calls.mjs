/**
 * Kinds of calls that only real servers understand, or that only they are asked: fetch, tunnels, WebSockets. See `../calls.mjs`.
 */
import { WebSocket } from 'undici'
import { check, toPieces, trickle, turns } from '../calls.mjs'

/** @typedef {import('../calls.mjs').Context} Context */

/** What `fetch()` takes of the options: an emitter is nothing that it knows. @param {Context} context */
function toInit({ dispatcher, options, reached }) {
  const { signal } = options
  return { init: { dispatcher, ...(signal instanceof AbortSignal ? { signal } : {}) }, reached }
}

/** @param {Context} context @param {object} extra */
async function fetchText(context, extra) {
  const { origin, path } = context.options
  const { init, reached } = toInit(context)
  try {
    const response = await context.fetch(`${origin}${path}`, { ...init, ...extra })
    reached('header')
    if (response.status !== 200) {
      // A body that is left alone keeps its listener on the signal until the response is collected.
      await response.body?.cancel()
      throw new Error(`status ${response.status}`)
    }
    check(await response.text(), context.tag)
  } catch (error) {
    // A network error is a TypeError; Dodici's own one is its cause.
    throw error instanceof TypeError && error.cause !== undefined ? error.cause : error
  }
  reached('end')
  return 'complete'
}

/**
 * Writes pieces, which come back as they are, and ends; or leaves it in the middle.
 *
 * @param {Context} context @param {import('node:stream').Duplex} socket
 */
async function talk(context, socket) {
  const { random, reached } = context
  const isLeft = random.chance(0.1)
  const pieces = toPieces(context)
  const sent = Buffer.concat(pieces)
  /** @type {Buffer[]} */
  const received = []
  try {
    await new Promise((resolve, reject) => {
      socket.on('error', reject)
      socket.on('close', () => reject(new Error('a tunnel closed without its end, and without an error')))
      socket.on('end', () => resolve(null))
      socket.on('data', (chunk) => {
        received.push(chunk)
        if (isLeft) resolve(socket.destroy())
      })
      write(socket, pieces, random).catch(reject)
    })
  } finally {
    socket.destroy()
    const all = Buffer.concat(received)
    if (!all.equals(sent.subarray(0, all.length))) failOn(all)
  }
  if (isLeft) return 'left'
  const { length } = Buffer.concat(received)
  if (length !== sent.length) throw new Error(`a tunnel has ended after ${length} of ${sent.length} bytes`)
  reached('end')
  return 'complete, through a tunnel'
}

/** @param {Buffer} bytes @returns {never} */
function failOn(bytes) {
  throw new Error(`a tunnel has brought other bytes: ${bytes.toString('latin1', 0, 20)}…`)
}

/** @param {import('node:stream').Duplex} socket @param {Buffer[]} pieces @param {Context['random']} random */
async function write(socket, pieces, random) {
  for (const piece of pieces) {
    if (socket.destroyed) return
    socket.write(piece)
    await turns(random.integer(0, 4))
  }
  if (!socket.destroyed) socket.end()
}

/** @param {Context} context @returns {Promise<string>} */
function talkByWebSocket(context) {
  const { dispatcher, options, random, tag, reached } = context
  const url = options.origin.replace('http:', 'ws:')
  const messages = Array.from({ length: random.integer(1, 6) }, (_, i) =>
    `${tag}-${i}-`.padEnd(random.integer(20, 3_000), 'w'),
  )
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(`${url}/soak`, { dispatcher: /** @type {any} */ (dispatcher) })
    let next = 0
    socket.addEventListener('open', () => {
      reached('header')
      socket.send(messages[0])
    })
    socket.addEventListener('message', ({ data }) => {
      if (data !== messages[next++])
        reject(new Error(`a WebSocket has brought ${String(data).slice(0, 20)}…`))
      if (next < messages.length) socket.send(messages[next])
      else if (random.chance(0.5)) socket.close()
      // The server closes.
      else socket.send('bye')
    })
    // The event of the close follows, whatever the cause was.
    socket.addEventListener('error', () => {})
    socket.addEventListener('close', ({ code }) => {
      resolve(next === messages.length ? 'complete, by WebSocket' : `WebSocket closed with ${code}`)
    })
  })
}

/** @type {Readonly<Record<string, (context: Context) => Promise<string>>>} */
export const chaosKinds = {
  fetchGet: (context) => fetchText(context, {}),
  fetchBytes: (context) => fetchText(context, { method: 'POST', body: Buffer.concat(toPieces(context)) }),
  fetchStream: (context) =>
    fetchText(context, { method: 'POST', body: trickle(toPieces(context)), duplex: 'half' }),

  async connect(context) {
    const { dispatcher, options, reached } = context
    const { socket } = await dispatcher.connect({ ...options, path: 'tunnel.test:443' })
    reached('header')
    return talk(context, socket)
  },

  async upgrade(context) {
    const { dispatcher, options, reached } = context
    const { socket } = await dispatcher.upgrade({ ...options, protocol: 'echo' })
    reached('header')
    return talk(context, socket)
  },

  webSocket: talkByWebSocket,
}

export const FETCHES = { fetchGet: 12, fetchBytes: 4, fetchStream: 3 }
export const CONNECT = { connect: 4 }
export const UPGRADE = { upgrade: 4 }
export const WEB_SOCKETS = { webSocket: 5 }
