/** The server of pieces, and the processes that ask it: test/process/children/piece-peer.ts says what it does. */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll } from 'vitest'
import { bundle } from '../clients/bundled.ts'
import { toCertificate } from '../servers/server.ts'

/** The origins of the server. */
export interface PieceOrigins {
  readonly plain: string
  readonly tls: string
}

/** What a test needs of it. */
export interface PieceRig {
  readonly origins: PieceOrigins
  /** Runs the child, and settles with what it reports. @param node the Node that runs it; by default this very one */
  run(args: readonly string[], node?: string): Promise<unknown>
}

/** A child that takes longer hangs. The tests of it have no shorter limit. */
export const TIMEOUT = 600_000

/**
 * Starts the server in a process of its own, for the tests of the file that asks.
 *
 * @param child the program of the client's process: a file of test/process/children, without `.ts`
 */
export function usePieceRig(child: string): PieceRig {
  const toUrl = (name: string) => new URL(`../../process/children/${name}.ts`, import.meta.url)
  const toPath = bundle({ peer: toUrl('piece-peer'), child: toUrl(child) })
  const env = { ...process.env, NODE_OPTIONS: '' }
  let origins: PieceOrigins | null = null
  let stop = async (): Promise<void> => {}

  beforeAll(async () => {
    const { private: key, cert } = await toCertificate()
    const texts = [key, cert].map((text) => Buffer.from(text).toString('base64'))
    // It ends with its input: tests that die leave none behind.
    const peer = spawn(process.execPath, [toPath('peer'), ...texts], {
      stdio: ['pipe', 'pipe', 'inherit'],
      env,
    })
    const closed = once(peer, 'close')
    stop = async () => {
      peer.kill('SIGKILL')
      await closed
    }
    const [line] = await once(createInterface(peer.stdout), 'line')
    origins = JSON.parse(line)
  })

  afterAll(() => stop())

  return {
    get origins() {
      if (origins === null) throw new Error('The server is there only while the tests run')
      return origins
    },
    async run(args, node = process.execPath) {
      // Optimized code would count as memory that is kept, and so would what threads of V8 haven't swept yet: on a busy machine that is much.
      const measuring = child === 'kept-memory' ? ['--no-opt', '--single-threaded-gc'] : []
      const flags = ['--expose-gc', ...measuring, toPath('child')]
      const stdio: ['ignore', 'pipe', 'pipe'] = ['ignore', 'pipe', 'pipe']
      const running = spawn(node, [...flags, ...args], { stdio, env, timeout: TIMEOUT })
      let [stdout, stderr] = ['', '']
      running.stdout.setEncoding('utf8').on('data', (text: string) => {
        stdout += text
      })
      running.stderr.setEncoding('utf8').on('data', (text: string) => {
        stderr += text
      })
      const [code, signal] = await once(running, 'close')
      if (code !== 0) throw new Error(`${args.join(' ')} ended with ${code ?? signal}: ${stderr}`)
      return JSON.parse(stdout)
    },
  }
}
