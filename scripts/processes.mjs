/** Programs that the tools start: none outlives this process, unless that is killed outright. */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as wait } from 'node:timers/promises'
import { PROGRAM_ENV } from './program-env.mjs'

/** @typedef {import('node:child_process').ChildProcess} ChildProcess */

/** @type {Set<ChildProcess>} */
const running = new Set()
/** @type {Set<string>} */
const folders = new Set()

/** Looks for a port that is listened on, a hundredth of a second apart: a server may take long to start on a busy machine. */
const LOOKS = 3_000

function cleanUp() {
  for (const child of running) child.kill('SIGKILL')
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
}

/** One listener while there is something to clean up, and none otherwise. */
function listen() {
  process.off('exit', cleanUp)
  if (running.size + folders.size > 0) process.on('exit', cleanUp)
}

/** Has it end with this process. @template {ChildProcess} T @param {T} child @returns {T} */
export function keep(child) {
  running.add(child)
  child.once('exit', () => {
    running.delete(child)
    listen()
  })
  listen()
  return child
}

/** @param {ChildProcess} child */
export const isGone = (child) => child.exitCode !== null || child.signalCode !== null

/** Kills it, and waits for its end. @param {ChildProcess} child */
export async function stop(child) {
  if (!running.has(child)) return
  // Not 'close': a child whose channel was disconnected has none.
  const exited = once(child, 'exit')
  child.kill('SIGKILL')
  await exited
}

/** The ids of all that run. */
export const toPids = () => [...running].map(({ pid }) => pid)

/**
 * Waits for the end of a child that `keep()` has: its standard output. A failure or a timeout is an error with what it wrote.
 *
 * @param {ChildProcess} child @param {number} timeout in milliseconds
 */
export async function outputOf(child, timeout) {
  const said = { stdout: '', stderr: '' }
  for (const name of /** @type {const} */ (['stdout', 'stderr']))
    child[name]?.setEncoding('utf8').on('data', (text) => {
      said[name] += text
    })
  let isLate = false
  const timer = setTimeout(() => {
    isLate = true
    child.kill('SIGKILL')
  }, timeout)
  const [code, signal] = await once(child, 'close')
  clearTimeout(timer)
  if (code === 0) return said.stdout
  const how = isLate
    ? `not finished after ${timeout / 1000} s`
    : `ended with ${signal ?? `exit code ${code}`}`
  throw new Error(`${how}\n${said.stderr}`)
}

/** The lines of its output, one by one. @param {ChildProcess} child */
export function linesOf({ stdout }) {
  if (stdout === null) throw new Error('no output to read')
  return createInterface({ input: stdout })[Symbol.asyncIterator]()
}

/** A folder that goes with this process, or earlier. @param {string} name */
export function makeFolder(name) {
  const folder = mkdtempSync(join(tmpdir(), `dodici-${name}-`))
  folders.add(folder)
  listen()
  const remove = () => {
    rmSync(folder, { recursive: true, force: true })
    folders.delete(folder)
    listen()
  }
  return { folder, remove }
}

/** The port of a server that listens. @param {{ address(): import('node:net').AddressInfo | string | null }} server */
export function portOf(server) {
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  return address.port
}

/** A port that was free a moment ago, for servers that can't be told to choose one themselves. */
export async function freePort() {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const port = portOf(probe)
  probe.close()
  await once(probe, 'close')
  return port
}

/** @param {number} port */
async function isListening(port) {
  const socket = connect(port, '127.0.0.1')
  const closed = once(socket, 'close').catch(() => {})
  const isOpen = await once(socket, 'connect').then(
    () => true,
    () => false,
  )
  socket.destroy()
  // It must not be found among this process's resources later.
  await closed
  return isOpen
}

/**
 * Starts a server that can't say which port it has.
 *
 * @param {(port: number) => ChildProcess} start on that port; `keep()` has it
 * @returns {Promise<{ child: ChildProcess, port: number }>}
 */
export async function startOnPort(start) {
  // Between our probe and its bind another process may take the port: then it exits, and the next one is tried.
  for (let attempt = 0; attempt < 5; attempt++) {
    const port = await freePort()
    const child = start(port)
    const failed = once(child, 'error').catch(() => [])
    if (child.pid === undefined) throw new Error(`it cannot be run: ${(await failed)[0]}`)
    for (let look = 0; look < LOOKS && !isGone(child); look++) {
      if ((await isListening(port)) && !isGone(child)) return { child, port }
      await wait(10)
    }
    await stop(child)
  }
  throw new Error('a server did not start')
}

/**
 * The same with a command, in the environment that has the folders of Debian's servers in PATH.
 *
 * @param {string} command @param {(port: number) => string[]} toArgs @param {NodeJS.ProcessEnv} [env]
 */
export async function startServer(command, toArgs, env = PROGRAM_ENV) {
  const { child, port } = await startOnPort((port) =>
    keep(spawn(command, toArgs(port), { stdio: 'ignore', env })),
  )
  return { origin: `http://127.0.0.1:${port}`, port, stop: () => stop(child) }
}

/** What a command says, on either stream, if it ends well. @param {string} command @param {string[]} args */
export function say(command, ...args) {
  const { status, stdout, stderr, error } = spawnSync(command, args, { encoding: 'utf8', env: PROGRAM_ENV })
  if (error !== undefined || status !== 0) throw new Error(`${command}: ${error ?? stderr.trim()}`)
  return stdout.trim() || stderr.trim()
}

/** Whether a program of the system is there, by an option with which it ends well. @param {string} command @param {string} option */
export const has = (command, option) => spawnSync(command, [option], { env: PROGRAM_ENV }).status === 0

/** The first thing in a text that looks like a version. @param {string} text */
export const toVersion = (text) => /\d+\.\d+(\.\d+)?/.exec(text)?.[0] ?? text
