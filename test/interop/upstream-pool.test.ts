import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as pass } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import { UpstreamPool } from '../../src/index.ts'
import type { EngineName } from '../../types/index.ts'
import { ENGINES } from '../support/clients/engines.ts'
import { toRounds } from '../support/clocks/sample.ts'
import { findFreePort } from '../support/servers/free-port.ts'
import { lacksNghttpd, startNghttpd } from '../support/servers/nghttpd.ts'
import { lacksNginx, startNginx } from '../support/servers/nginx.ts'

/** How long the load lasts. Milliseconds. */
const DURATION = toRounds(20_000, 10_000)
/** Requests at a time, for each engine, and the pause of each lane between two of them. */
const LANES = 8
const PAUSE = 4
/** How long the slow server takes for a response. Milliseconds. */
const SLOW = 500
/** How long the dying server lives, and how long it is gone. Milliseconds. */
const LIFE = 1_500
const DEATH = 500

const SCRIPT = fileURLToPath(new URL('children/upstream.mjs', import.meta.url))

/** A server of node:http2 in a process of its own, which can be killed, and started again on the same port. */
class NodeServer {
  readonly origin: string
  readonly #port: number
  readonly #delay: number
  #child: ChildProcess | null = null

  private constructor(port: number, delay: number) {
    this.#port = port
    this.#delay = delay
    this.origin = `http://127.0.0.1:${port}`
  }

  static async start(delay: number): Promise<NodeServer> {
    const server = new NodeServer(await findFreePort(), delay)
    onTestFinished(() => server.kill())
    await server.restart()
    return server
  }

  async restart(): Promise<void> {
    // Node options of the test runner are not for the child.
    this.#child = spawn(process.execPath, [SCRIPT, `${this.#port}`, `${this.#delay}`], {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { ...process.env, NODE_OPTIONS: '' },
    })
    if (this.#child.stdout !== null) await once(this.#child.stdout, 'data')
  }

  async kill(): Promise<void> {
    const child = this.#child
    this.#child = null
    if (child === null) return
    const closed = once(child, 'close')
    child.kill('SIGKILL')
    await closed
  }
}

/** Sends requests over some lanes until it is told to end. */
class Load {
  readonly pool: UpstreamPool
  readonly losses: unknown[] = []
  isOver = false

  constructor(engine: EngineName, origins: readonly string[]) {
    this.pool = new UpstreamPool(origins, { engine })
    onTestFinished(() => this.pool.destroy())
  }

  async run(): Promise<void> {
    await Promise.all(
      Array.from({ length: LANES }, (_, lane) => this.#runLane(lane % 2 === 0 ? 'GET' : 'HEAD')),
    )
  }

  /** The part of the requests that an upstream was given. */
  toShare(origin: string): number {
    const { stats } = this.pool
    const total = Object.values(stats).reduce((sum, { requests }) => sum + requests, 0)
    return (stats[origin]?.requests ?? 0) / total
  }

  async #runLane(method: 'GET' | 'HEAD'): Promise<void> {
    while (!this.isOver) {
      try {
        const { statusCode, body } = await this.pool.request({ path: '/hello.txt', method })
        await body.dump()
        if (statusCode !== 200) this.losses.push(statusCode)
      } catch (error) {
        this.losses.push(error)
      }
      await pass(PAUSE)
    }
  }
}

describe.skipIf(lacksNghttpd || lacksNginx)(
  'an UpstreamPool over four servers, one slow and one dying',
  () => {
    it('loses no idempotent request, and gives the slow one less than a tenth, on both engines', async () => {
      const nghttpd = await startNghttpd({ files: { 'hello.txt': 'hello' } })
      const nginx = await startNginx({ server: 'location / { return 200 hello; }' })
      const [slow, dying] = [await NodeServer.start(SLOW), await NodeServer.start(0)]
      const origins = [nghttpd.origin, nginx.origin, slow.origin, dying.origin]
      const loads = ENGINES.map((engine) => new Load(engine, origins))
      const running = loads.map((load) => load.run())
      const end = performance.now() + DURATION
      let deaths = 0
      while (performance.now() < end) {
        await pass(LIFE)
        await dying.kill()
        deaths++
        await pass(DEATH)
        await dying.restart()
      }
      for (const load of loads) load.isOver = true
      await Promise.all(running)
      expect(deaths).toBeGreaterThan(0)
      for (const load of loads) {
        expect(load.losses).toEqual([])
        expect(load.toShare(slow.origin)).toBeLessThan(0.1)
        for (const { origin } of [nghttpd, nginx, dying]) expect(load.toShare(origin)).toBeGreaterThan(0)
        await load.pool.close()
      }
    })
  },
)
