import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'

/** The orders of scripts/fuzz/watch.mjs that the tests choose. */
interface Watch {
  readonly file: string
  readonly progress: string
  readonly standstill: number
  readonly say: (line: string) => void
}

interface Orders {
  readonly rounds: number
  readonly seed: number
  readonly [name: string]: unknown
}

type WatchRounds = (
  watch: Watch,
  orders: Orders,
) => Promise<{
  hasFailed: boolean
  played: number
  nodeAborts: number
}>

const { watchRounds }: { watchRounds: WatchRounds } = await import(
  new URL('../../../scripts/fuzz/watch.mjs', import.meta.url).href
)

/**
 * A process that writes its progress, and then does something.
 *
 * @param standstill milliseconds without progress after which the process is ended; far more than any but the hanging one takes
 */
async function play(code: string, orders: Partial<Orders> = {}, standstill = 60_000) {
  const folder = await mkdtemp(join(tmpdir(), 'dodici-fuzz-test-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const file = join(folder, 'child.mjs')
  await writeFile(
    file,
    `import { writeFileSync } from 'node:fs'
    const orders = JSON.parse(process.argv[2])
    const begin = (seed, played) => writeFileSync(orders.progress, \`\${seed} \${played}\`)
    ${code}`,
  )
  const said: string[] = []
  const watch = {
    file,
    progress: join(folder, 'progress'),
    standstill,
    say: (line: string) => said.push(line),
  }
  const common = { engine: 'wire', seed: 7, step: 1, seeds: null, rounds: 3, seconds: 60, keepsGoing: false }
  return { ...(await watchRounds(watch, { ...common, ...orders })), said: said.join('\n') }
}

describe('the watch over processes that play rounds', () => {
  it('when all rounds held › reports that', async () => {
    const outcome = await play('begin(7, 3)')
    expect(outcome).toEqual({ hasFailed: false, played: 3, nodeAborts: 0, said: '' })
  })

  it('when a process reports a failed round › reports it', async () => {
    const outcome = await play('begin(8, 1); process.exitCode = 1')
    expect(outcome).toEqual({ hasFailed: true, played: 1, nodeAborts: 0, said: '' })
  })

  it('when a process dies › names the seed', async () => {
    const { hasFailed, said } = await play("begin(7, 0); process.kill(process.pid, 'SIGKILL')")
    expect(hasFailed).toBe(true)
    expect(said).toMatch(/engine wire, Node [\d.]+, seed 7: the process has ended with SIGKILL$/i)
  })

  it('when it dies of an earlier round’s garbage › plays the last rounds again, and names that one', async () => {
    const { said } = await play(
      `if (!orders.collects) begin(9, 2)
      else begin(8, 1)
      process.kill(process.pid, 'SIGKILL')`,
    )
    expect(said).toContain('seed 9: the process has ended with SIGKILL')
    expect(said).toContain('Again came seed 8: the process has ended with SIGKILL')
  })

  it('when it hangs › ends it, and names the seed', async () => {
    const { hasFailed, said } = await play('begin(7, 0); for (;;);', {}, 1_000)
    expect(hasFailed).toBe(true)
    expect(said).toContain('seed 7: the process has stood still for 1 s')
  })

  it('when the orders include the rest › goes on after the crash', async () => {
    const code = `if (orders.collects) process.exit(0)
      begin(orders.seed, 0)
      if (orders.seed === 7) process.kill(process.pid, 'SIGKILL')
      begin(orders.seed, orders.rounds)`
    const { hasFailed, played } = await play(code, { keepsGoing: true })
    expect([hasFailed, played]).toEqual([true, 3])
  })

  const abort = `begin(orders.seed, 0)
    if (orders.seed === 7) {
      console.error('node[1]: virtual node::http2::Http2Session::~Http2Session() at ../src/node_http2.cc:640')
      console.error('Assertion failed: (current_nghttp2_memory_) == (0)')
      process.abort()
    }
    begin(orders.seed, orders.rounds)`

  it('when Node itself aborts on engine node › counts that, and goes on', async () => {
    const { hasFailed, played, nodeAborts, said } = await play(abort, { engine: 'node' })
    expect({ hasFailed, played, nodeAborts, said }).toEqual({
      hasFailed: false,
      played: 3,
      nodeAborts: 1,
      said: '',
    })
  })

  it('when a process of engine wire ends in the same way › counts it as a failure', async () => {
    const { hasFailed, nodeAborts, said } = await play(abort, { engine: 'wire' })
    expect([hasFailed, nodeAborts]).toEqual([true, 0])
    expect(said).toContain('seed 7: the process has ended with SIGABRT')
  })
})
