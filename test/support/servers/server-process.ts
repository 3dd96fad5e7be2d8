import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { onTestFinished } from 'vitest'
import { PROGRAM_ENV } from '../../../scripts/program-env.mjs'
import { findFreePort } from './free-port.ts'

/** A running server that others wrote. */
export interface ServerProcess {
  readonly port: number
  /** What it has said so far. */
  said(): string
  /** Sends it a signal, and settles once it has said this. */
  signal(name: NodeJS.Signals, response: string): Promise<void>
  /** Ends it, and settles once it is gone. */
  stop(): Promise<void>
  /** The same, without a chance to say goodbye: for a server of one process. */
  kill(): Promise<void>
}

/** How to start a server in the foreground. */
interface Launch {
  readonly command: string
  readonly args: readonly string[]
  /** What it says once it listens. Null: it says nothing, and is connected to until that works. */
  readonly ready: string | null
}

/** Another process may take a port between our look and the server's. */
const MAX_STARTS = 3
/** Between two looks whether a process listens, in milliseconds. */
const START_STEP = 10

/** A folder that goes with the test. */
export async function makeFolder(name: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), `dodici-${name}-`))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  // A server that was started by root runs as another user, who needs access to the folder.
  await chmod(folder, 0o755)
  return folder
}

/**
 * Starts a server on a port of the loopback interface. It ends with the test.
 *
 * @param fixed the port; by default a free one
 */
export async function startProcess(
  toLaunch: (port: number) => Promise<Launch>,
  fixed?: number,
): Promise<ServerProcess> {
  for (let starts = 1; ; starts++) {
    const port = fixed ?? (await findFreePort())
    const { command, args, ready } = await toLaunch(port)
    const child = spawn(command, args, { env: PROGRAM_ENV, stdio: ['ignore', 'pipe', 'pipe'] })
    const words = new Words(child)
    const end = async (name: NodeJS.Signals): Promise<void> => {
      child.kill(name)
      await words.ended
    }
    // Its own way to end: killed, it would leave its workers behind.
    const stop = () => end('SIGTERM')
    onTestFinished(stop)
    try {
      if (ready !== null) await words.hear(ready)
      else if (!(await isListening(child, port))) throw new Error(`It ended. It said: ${words.said}`)
    } catch (error) {
      if (starts === MAX_STARTS) throw new Error(`${command} did not start ${starts} times`, { cause: error })
      continue
    }
    const signal = async (name: NodeJS.Signals, response: string): Promise<void> => {
      const responded = words.hear(response)
      child.kill(name)
      await responded
    }
    return { port, said: () => words.said, signal, stop, kill: () => end('SIGKILL') }
  }
}

/** What a process says, and when it says no more. */
class Words {
  readonly ended: Promise<void>
  /** Everything so far. */
  said = ''
  #listeners: (() => void)[] = []

  constructor(child: ChildProcess) {
    for (const pipe of [child.stdout, child.stderr]) {
      pipe?.setEncoding('utf8').on('data', (text: string) => {
        this.said += text
        for (const listener of this.#listeners) listener()
      })
    }
    // Not `exit`: the pipes may still hold something then. One that can't be spawned emits `error`, and `close` as
    // well.
    this.ended = new Promise((resolve) => child.on('error', ignore).on('close', () => resolve()))
  }

  /** Settles once it says this after now. */
  async hear(text: string): Promise<void> {
    const from = this.said.length
    await new Promise<void>((resolve, reject) => {
      this.#listeners.push(() => {
        if (this.said.includes(text, from)) resolve()
      })
      void this.ended.then(() => reject(new Error(`It ended without '${text}'. It said: ${this.said}`)))
    })
  }
}

/** Tries to connect until the process listens. False when the process has ended; if it does neither, the test hangs. */
export async function isListening(child: ChildProcess, port: number): Promise<boolean> {
  while (child.exitCode === null && child.signalCode === null) {
    const socket = connect(port, '127.0.0.1')
    try {
      await once(socket, 'connect')
      // The open port must be this process's: if the port is taken, the process has ended.
      await setTimeout(START_STEP)
      return child.exitCode === null
    } catch {
      await setTimeout(START_STEP)
    } finally {
      socket.destroy()
    }
  }
  return false
}

function ignore(): void {}
