/** The servers of a soak, each in a process of its own that doesn't outlive this one. */
import { fork, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { freePort } from '../free-port.mjs'
import { PROGRAM_ENV } from '../program-env.mjs'
import { compileScript } from '../support.mjs'

/**
 * @typedef {{ faults: Record<string, number>, violations: string[], connections: number, streams: number, posts: number
 *   }} PeerTally
 *
 * @typedef {object} Peer a server that misbehaves
 * @property {string} origin
 * @property {() => Promise<PeerTally>} tally
 * @property {() => void} sayAlive the soak's other processes end with it, however it ends
 * @property {() => Promise<void>} stop
 */

/** @type {Set<import('node:child_process').ChildProcess>} */
const running = new Set()

/** Looks for a port that is listened on, a hundredth of a second apart: a server may take long to start on a busy machine. */
const LOOKS = 3_000

function killAll() {
  for (const child of running) child.kill('SIGKILL')
}

/** Lets no child outlive this process. @param {import('node:child_process').ChildProcess} child */
export function keep(child) {
  // A listener while there is something to kill, and none afterwards.
  if (running.size === 0) process.on('exit', killAll)
  running.add(child)
}

/** Kills it, and waits for its exit. @param {import('node:child_process').ChildProcess} child */
export async function end(child) {
  const isGone = child.exitCode !== null || child.signalCode !== null
  const exited = isGone ? null : once(child, 'exit')
  child.kill('SIGKILL')
  await exited
  running.delete(child)
  if (running.size === 0) process.off('exit', killAll)
}

/** Tells it that the soak is alive, and what to end with the soak: see `ward.mjs`. @param {import('node:child_process').ChildProcess} child */
export function sayAliveTo(child) {
  const wards = [...running].filter((other) => other !== child).map(({ pid }) => pid)
  // It may have been killed just now.
  if (child.connected) child.send({ wards }, () => {})
}

/** One for each seed. @param {number[]} seeds @returns {Promise<Peer[]>} */
export async function startPeers(seeds) {
  const script = compileScript('soak/peer.mjs')
  try {
    return await Promise.all(seeds.map((seed) => startPeer(script.file, seed)))
  } finally {
    // They have said their ports: all of it is loaded.
    script.remove()
  }
}

/** @param {string} script @param {number} seed @returns {Promise<Peer>} */
async function startPeer(script, seed) {
  const { said, ...child } = await startChild(script, { seed })
  return { origin: `http://127.0.0.1:${said.port}`, ...child }
}

/**
 * A process that speaks by messages, and that is told that the soak is alive: see `ward.mjs`.
 *
 * @param {string} script @param {object} argument
 */
export async function startChild(script, argument) {
  const child = fork(script, [JSON.stringify(argument)], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    execArgv: ['--enable-source-maps'],
  })
  keep(child)
  const [said] = await once(child, 'message')
  return {
    /** Its first message. */
    said,
    /** @param {(message: any) => void} listener of all others */
    onMessage: (listener) => void child.on('message', listener),
    async tally() {
      if (child.exitCode !== null || child.signalCode !== null) {
        throw new Error(`a server has died: ${child.signalCode ?? child.exitCode}`)
      }
      const heard = new Promise((resolve) => {
        const listen = (/** @type {any} */ message) => {
          // Others are about faults that come and go.
          if (message.faults === undefined && message.lanes === undefined) child.once('message', listen)
          else resolve(message)
        }
        child.once('message', listen)
      })
      child.send('tally')
      return await heard
    },
    sayAlive: () => sayAliveTo(child),
    async stop() {
      if (child.connected) child.disconnect()
      await end(child)
    },
  }
}

export const hasNghttpd = spawnSync('nghttpd', ['--version'], { env: PROGRAM_ENV }).status === 0

/** @param {number} port */
async function isListening(port) {
  const socket = connect(port, '127.0.0.1')
  const closed = once(socket, 'close').catch(() => {})
  try {
    await once(socket, 'connect')
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
    // It must not be found among this process's resources later.
    await closed
  }
}

/**
 * Starts a server that can't say which port it has.
 *
 * @param {string} command @param {(port: number) => string[]} toArgs @param {string} folder goes with the server
 * @param {NodeJS.ProcessEnv} [env] by default with the folders of Debian's servers in PATH
 * @returns {Promise<{ origin: string, port: number, stop(): Promise<void> }>}
 */
export async function startOnPort(command, toArgs, folder, env = PROGRAM_ENV) {
  for (let start = 0; start < 3; start++) {
    const port = await freePort()
    const child = spawn(command, toArgs(port), { stdio: 'ignore', env })
    const failed = new Promise((resolve) => child.once('error', resolve))
    if (child.pid === undefined) throw new Error(`${command} cannot be run: ${await failed}`)
    keep(child)
    for (let look = 0; look < LOOKS && child.exitCode === null; look++) {
      if ((await isListening(port)) && child.exitCode === null) {
        const stop = async () => {
          await end(child)
          rmSync(folder, { recursive: true, force: true })
        }
        return { origin: `http://127.0.0.1:${port}`, port, stop }
      }
      await setTimeout(10)
    }
    await end(child)
  }
  rmSync(folder, { recursive: true, force: true })
  throw new Error(`${command} did not start`)
}

/** A correct server: failures with it are the client's own. */
export async function startNghttpd() {
  const folder = mkdtempSync(join(tmpdir(), 'dodici-soak-'))
  // The body says how long it is.
  writeFileSync(join(folder, 'soak'), '20:'.padEnd(20, 'n'))
  const args = ['--no-tls', '--address=127.0.0.1', '--echo-upload', `--htdocs=${folder}`]
  return await startOnPort('nghttpd', (port) => [...args, `${port}`], folder)
}

export const hasGo = spawnSync('go', ['version'], { env: PROGRAM_ENV }).status === 0

const interop = join(import.meta.dirname, '../../test/interop')

/**
 * A gRPC server: grpc-go, or grpc-js if Go isn't installed. It is correct, and by default retires each connection after a while.
 */
export async function startGrpc(args = ['--max-connection-age=300ms']) {
  const folder = mkdtempSync(join(tmpdir(), 'dodici-soak-'))
  const toArgs = (/** @type {number} */ port) => [...args, `--port=${port}`]
  if (!hasGo) {
    const script = join(interop, 'children/grpc-js-server.mjs')
    return await startOnPort(process.execPath, (port) => [script, ...toArgs(port)], folder)
  }
  const binary = join(folder, 'server')
  const build = spawnSync('go', ['build', '-ldflags=-s -w', '-o', binary, '.'], {
    cwd: join(interop, 'grpc-go'),
    env: PROGRAM_ENV,
    encoding: 'utf8',
  })
  if (build.status !== 0) throw new Error(`go cannot build the server of gRPC: ${build.stderr}`)
  return await startOnPort(binary, toArgs, folder)
}
