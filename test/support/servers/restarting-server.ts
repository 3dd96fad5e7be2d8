import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'
import type { AccessLine } from './access-log.ts'
import { parseAccessLog } from './access-log.ts'
import { buildGo, lacks } from './programs.ts'
import { toCertificate } from './server.ts'
import { makeFolder } from './server-process.ts'

/** A server that writes down each request before it responds: what it took up is known even after it was killed. */
export interface RestartingServer {
  readonly port: number
  /** What it took up so far. */
  readonly lines: readonly AccessLine[]
  /** Settles once it has taken up the request with this path; true unless it ends before. */
  takesUp(path: string): Promise<boolean>
  /** SIGTERM ends it gracefully, SIGKILL at once; settles once it is gone and all its lines are here. */
  end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void>
}

/** A kind of such a server. */
export interface ServerKind {
  /** With which its port makes an origin. */
  readonly protocol: 'http:' | 'https:'
  /** The certificate of a TLS server, to be trusted by `connect: { ca }`. */
  readonly ca: string
  start(): Promise<RestartingServer>
}

export const lacksGo = lacks('go')

const children = new URL('../../interop/children/', import.meta.url)

/**
 * How long a build may take, in milliseconds: half a minute where Go has never compiled its standard library before.
 */
export const GO_BUILD_LIMIT = 180_000

/** Builds the server of Go's net/http. */
export async function buildGoServer(folder: string): Promise<string> {
  const binary = join(folder, 'restarting')
  await buildGo(binary, { file: fileURLToPath(new URL('restarting.go', children)) })
  return binary
}

/** Servers of Go's net/http, over TLS. A connection is retired after so many requests; `0`: never. */
export async function toGoServers(binary: string, retireAfter = 0): Promise<ServerKind> {
  const folder = await makeFolder('go')
  const { private: key, cert: ca } = await toCertificate()
  const files = { key: join(folder, 'key.pem'), certificate: join(folder, 'certificate.pem') }
  await writeFile(files.key, key)
  await writeFile(files.certificate, ca)
  const args = ['-key', files.key, '-certificate', files.certificate, '-retire-after', `${retireAfter}`]
  return { protocol: 'https:', ca, start: () => start(binary, args) }
}

/** Servers of node:http2, over h2c. */
export function toNodeServers(): ServerKind {
  const script = fileURLToPath(new URL('restarting.mjs', children))
  return { protocol: 'http:', ca: '', start: () => start(process.execPath, [script]) }
}

async function start(command: string, args: readonly string[]): Promise<RestartingServer> {
  // Node options of the test runner, or of the process that started it, are not for the child.
  const child = spawn(command, args, {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, NODE_OPTIONS: '' },
  })
  const closed = once(child, 'close')
  onTestFinished(async () => {
    child.kill('SIGKILL')
    await closed
  })
  return await new Log(child, closed).toServer()
}

/** The lines that a server writes. */
class Log {
  readonly lines: AccessLine[] = []
  readonly #child: ChildProcess
  readonly #closed: Promise<unknown>
  readonly #listeners = new Set<() => void>()
  #port = 0
  #rest = ''
  #isOver = false

  constructor(child: ChildProcess, closed: Promise<unknown>) {
    this.#child = child
    this.#closed = closed
    child.stdout?.setEncoding('utf8').on('data', (text: string) => this.#read(text))
    void closed.then(() => {
      this.#isOver = true
      this.#tell()
    })
  }

  async toServer(): Promise<RestartingServer> {
    await this.#until(() => this.#port !== 0)
    if (this.#port === 0) throw new Error(`${this.#child.spawnfile} ended before it listened`)
    return {
      port: this.#port,
      lines: this.lines,
      takesUp: (path) => this.#until(() => this.lines.some((line) => line.path === path)),
      end: async (signal) => {
        this.#child.kill(signal)
        await this.#closed
      },
    }
  }

  #read(text: string): void {
    const whole = `${this.#rest}${text}`.split('\n')
    this.#rest = whole.pop() ?? ''
    for (const line of whole) {
      if (line.startsWith('listening ')) this.#port = Number(line.slice('listening '.length))
      else this.lines.push(...parseAccessLog(line))
    }
    this.#tell()
  }

  #tell(): void {
    for (const listener of this.#listeners) listener()
  }

  /** Whether it came true before the server ended. */
  async #until(isTrue: () => boolean): Promise<boolean> {
    if (!isTrue() && !this.#isOver) {
      await new Promise<void>((resolve) => {
        const listener = (): void => {
          if (!isTrue() && !this.#isOver) return
          this.#listeners.delete(listener)
          resolve()
        }
        this.#listeners.add(listener)
      })
    }
    return isTrue()
  }
}
