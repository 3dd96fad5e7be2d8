/** The processes of a soak that speak by messages, and are told that the soak is alive: see `ward.mjs`. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { isGone, keep, stop, toOthers } from '../processes.mjs'
import { compileScript } from '../support.mjs'

/**
 * @typedef {import('node:child_process').ChildProcess} ChildProcess
 * @typedef {{ faults: Record<string, number>, violations: string[], connections: number, streams: number, posts: number }} PeerTally
 *
 * @typedef {object} Peer a server that misbehaves
 * @property {string} origin
 * @property {() => Promise<PeerTally>} tally
 * @property {() => void} sayAlive the soak's other processes end with it, however it ends
 * @property {() => Promise<void>} stop
 */

/** @param {string} script @param {object} argument @param {string[]} execArgv */
export const forkChild = (script, argument, execArgv = []) =>
  keep(fork(script, [JSON.stringify(argument)], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'], execArgv }))

/** Tells it that the soak is alive, and what to end with the soak. @param {ChildProcess} child */
export function sayAliveTo(child) {
  // It may have been killed just now.
  if (child.connected) child.send({ wards: toOthers(child) }, () => {})
}

/**
 * The next message that has this field.
 *
 * @param {ChildProcess} child @param {string} field
 * @returns {Promise<any>} the message
 */
export function hear(child, field) {
  return new Promise((resolve, reject) => {
    const stop = () => child.off('message', onMessage).off('exit', onExit)
    const onMessage = (/** @type {any} */ message) => {
      if (message[field] === undefined) return
      stop()
      resolve(message)
    }
    const onExit = () => {
      stop()
      reject(new Error(`a server has died: ${child.signalCode ?? child.exitCode}`))
    }
    child.on('message', onMessage).on('exit', onExit)
    if (isGone(child)) onExit()
  })
}

/**
 * What a relay tells while it runs; its other messages have no phase.
 *
 * @typedef {{ lane: string, fault: string, phase: 'begin' | 'end', at: number } | { phase?: undefined }} FaultMessage
 */

/**
 * Starts a script that is compiled for it.
 *
 * @param {string} path relative to scripts/ @param {object} argument @param {string} field of the message that answers `tally`
 */
async function startChild(path, argument, field) {
  const script = compileScript(path)
  const child = forkChild(script.file, argument, ['--enable-source-maps'])
  const [said] = await once(child, 'message')
  // All of it is loaded.
  script.remove()
  return {
    /** Its first message. */
    said,
    /** @param {(message: FaultMessage) => void} listener of all others */
    onMessage: (listener) =>
      void child.on('message', (message) => listener(/** @type {FaultMessage} */ (message))),
    async tally() {
      const heard = hear(child, field)
      child.send('tally')
      return await heard
    },
    sayAlive: () => sayAliveTo(child),
    async stop() {
      if (child.connected) child.disconnect()
      await stop(child)
    },
  }
}

/** One for each seed. @param {number[]} seeds @returns {Promise<Peer[]>} */
export const startPeers = (seeds) =>
  Promise.all(
    seeds.map(async (seed) => {
      const { said, ...child } = await startChild('soak/peer.mjs', { seed }, 'faults')
      return { origin: `http://127.0.0.1:${said.port}`, ...child }
    }),
  )

/** @param {number} seed @param {readonly { name: string, port: number }[]} servers */
export const startRelay = (seed, servers) =>
  startChild(
    'soak/chaos/relay.mjs',
    { seed, servers: servers.map(({ name, port }) => ({ name, port })) },
    'lanes',
  )
