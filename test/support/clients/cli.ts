/** The program `dodici`, in processes of its own. `npm run build` makes it. */

import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'
import type { Exit } from './child.ts'

/** What `npx dodici` runs. */
export const CLI = fileURLToPath(new URL('../../../dist/cli.js', import.meta.url))

/** A process of it, and what it has said so far. */
export class CliProcess {
  readonly child: ChildProcess
  stdout = ''
  stderr = ''
  readonly #closed: Promise<unknown>

  /** @param stdin `pipe`: one that stays open. @default 'ignore' */
  constructor(
    args: readonly string[],
    env: Readonly<Record<string, string>>,
    cwd?: string,
    stdin: 'ignore' | 'pipe' = 'ignore',
  ) {
    this.child = spawn(process.execPath, [CLI, ...args], {
      stdio: [stdin, 'pipe', 'pipe'],
      env: { ...process.env, NODE_OPTIONS: '', ...env },
      ...(cwd === undefined ? {} : { cwd }),
    })
    this.child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.stdout += text
    })
    this.child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.stderr += text
    })
    this.#closed = once(this.child, 'close')
  }

  /** Settles when it has ended, and all that it said is here. */
  async exit(): Promise<Exit> {
    await this.#closed
    const { exitCode: code, signalCode: signal } = this.child
    return { code, signal, stdout: this.stdout, stderr: this.stderr }
  }

  /** Settles when its output has this text, so many times. */
  async says(text: string, times = 1): Promise<void> {
    while (this.stdout.split(text).length <= times) {
      const { stdout } = this.child
      if (stdout === null || stdout.readableEnded)
        throw new Error(`it ended without '${text}': ${this.stderr}`)
      await Promise.race([once(stdout, 'data'), once(stdout, 'end')])
    }
  }

  /** Settles when its standard error has this text. */
  async warns(text: string): Promise<void> {
    while (!this.stderr.includes(text)) {
      const { stderr } = this.child
      if (stderr === null || stderr.readableEnded)
        throw new Error(`it ended without '${text}': ${this.stderr}`)
      await Promise.race([once(stderr, 'data'), once(stderr, 'end')])
    }
  }

  async kill(): Promise<void> {
    this.child.kill('SIGKILL')
    await this.#closed
  }
}

/** Runs it to its end. */
export async function runCli(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Exit> {
  const running = new CliProcess(args, env)
  onTestFinished(() => running.kill())
  return running.exit()
}

/** A new folder, for the tests of a file. The caller removes it. */
export function makeFolder(): Promise<string> {
  return mkdtemp(join(tmpdir(), 'dodici-cli-'))
}

export function removeFolder(folder: string): Promise<void> {
  return rm(folder, { recursive: true, force: true })
}

/** A `dodici serve` or `dodici faults` that listens. */
export interface Serve {
  readonly running: CliProcess
  /** Over h2c. */
  readonly plain: string
  /** Over TLS; empty without. */
  readonly secure: string
  readonly caPath: string
  readonly ca: string
}

/** Starts `dodici serve` on free ports. The caller ends it. */
export function startServe(cache: string, ...args: string[]): Promise<Serve> {
  return startServer('serve', cache, args)
}

/** Starts `dodici faults` on free ports. The caller ends it. */
export function startFaults(cache: string, ...args: string[]): Promise<Serve> {
  return startServer('faults', cache, args)
}

async function startServer(command: string, cache: string, args: readonly string[]): Promise<Serve> {
  const ports = ['--port', '0', '--tls-port', '0']
  const running = new CliProcess([command, ...ports, ...args], { XDG_CACHE_HOME: cache })
  await running.says('Press Ctrl-C to stop.')
  const [plain = '', secure = ''] = running.stdout.match(/https?:\/\/localhost:\d+/g) ?? []
  const [, caPath = ''] = /NODE_EXTRA_CA_CERTS=(\S+)/.exec(running.stdout) ?? []
  return { running, plain, secure, caPath, ca: caPath === '' ? '' : await readFile(caPath, 'utf8') }
}
