/**
 * The servers of a soak, each in a process of its own that doesn't outlive this one.
 */
import { fork, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { freePort } from '../free-port.mjs'
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

function killAll() {
  for (const child of running) child.kill('SIGKILL')
}

/** @param {import('node:child_process').ChildProcess} child */
function keep(child) {
  // A listener while there is something to kill, and none afterwards.
  if (running.size === 0) process.on('exit', killAll)
  running.add(child)
}

/** @param {import('node:child_process').ChildProcess} child */
async function end(child) {
  const isGone = child.exitCode !== null || child.signalCode !== null
  const exited = isGone ? null : once(child, 'exit')
  child.kill('SIGKILL')
  await exited
  running.delete(child)
  if (running.size === 0) process.off('exit', killAll)
}

/**
 * One for each seed.
 *
 * @param {number[]} seeds
 * @returns {Promise<Peer[]>}
 */
export async function startPeers(seeds) {
  const script = compileScript('soak/peer.mjs')
  try {
    return await Promise.all(seeds.map((seed) => startPeer(script.file, seed)))
  } finally {
    // They have said their ports: all of it is loaded.
    script.remove()
  }
}

/**
 * @param {string} script
 * @param {number} seed
 * @returns {Promise<Peer>}
 */
async function startPeer(script, seed) {
  const child = fork(script, [JSON.stringify({ seed })], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    execArgv: ['--enable-source-maps'],
  })
  keep(child)
  const [{ port }] = await once(child, 'message')
  return {
    origin: `http://127.0.0.1:${port}`,
    async tally() {
      if (child.exitCode !== null || child.signalCode !== null) {
        throw new Error(`a server has died: ${child.signalCode ?? child.exitCode}`)
      }
      const heard = once(child, 'message')
      child.send('tally')
      const [tally] = await heard
      return tally
    },
    sayAlive() {
      const wards = [...running].filter((other) => other !== child).map(({ pid }) => pid)
      if (child.connected) child.send({ wards })
    },
    async stop() {
      if (child.connected) child.disconnect()
      await end(child)
    },
  }
}

export const hasNghttpd = spawnSync('nghttpd', ['--version']).status === 0

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
 * @param {string} command
 * @param {(port: number) => string[]} toArgs
 * @param {string} folder goes with the server
 * @returns {Promise<{ origin: string, stop(): Promise<void> }>}
 */
async function startOnPort(command, toArgs, folder) {
  for (let start = 0; start < 3; start++) {
    const port = await freePort()
    const child = spawn(command, toArgs(port), { stdio: 'ignore' })
    keep(child)
    for (let look = 0; look < 500 && child.exitCode === null; look++) {
      if ((await isListening(port)) && child.exitCode === null) {
        const stop = async () => {
          await end(child)
          rmSync(folder, { recursive: true, force: true })
        }
        return { origin: `http://127.0.0.1:${port}`, stop }
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

export const hasGo = spawnSync('go', ['version']).status === 0

const interop = join(import.meta.dirname, '../../test/interop')

/**
 * A gRPC server: grpc-go, or grpc-js if Go isn't installed. It is correct, and retires each connection after a while.
 */
export async function startGrpc() {
  const folder = mkdtempSync(join(tmpdir(), 'dodici-soak-'))
  const args = ['--max-connection-age=300ms']
  const toArgs = (/** @type {number} */ port) => [...args, `--port=${port}`]
  if (!hasGo) {
    args.unshift(join(interop, 'children/grpc-js-server.mjs'))
    return await startOnPort(process.execPath, toArgs, folder)
  }
  const binary = join(folder, 'server')
  const build = spawnSync('go', ['build', '-ldflags=-s -w', '-o', binary, '.'], {
    cwd: join(interop, 'grpc-go'),
    encoding: 'utf8',
  })
  if (build.status !== 0) throw new Error(`go cannot build the server of gRPC: ${build.stderr}`)
  return await startOnPort(binary, toArgs, folder)
}
