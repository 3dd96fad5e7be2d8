import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'

const GIGABYTE = 2 ** 30
const MEGABYTE = 2 ** 20

let folder = ''

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'dodici-memory-'))
  await build({
    entryPoints: ['memory', 'memory-server'].map((name) =>
      fileURLToPath(new URL(`./children/${name}.ts`, import.meta.url)),
    ),
    outdir: folder,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
  })
})

afterAll(() => rm(folder, { recursive: true, force: true }))

/** Starts a child of its own process; it ends with the test at the latest. */
function start(args: string[]) {
  const child = spawn(process.execPath, args, {
    // The server ends with its input: a test that dies leaves none behind.
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env, NODE_OPTIONS: '' },
  })
  const closed = once(child, 'close')
  onTestFinished(async () => {
    child.kill('SIGKILL')
    await closed
  })
  return child
}

/** The one line that a child reports. */
async function toFacts(child: ReturnType<typeof start>): Promise<Record<string, unknown>> {
  let text = ''
  for await (const chunk of child.stdout.setEncoding('utf8')) {
    text += chunk
    if (text.endsWith('\n')) break
  }
  const facts: unknown = JSON.parse(text)
  return { ...Object(facts) }
}

describe('a gigabyte', () => {
  it.each([
    'up from an async generator',
    'up from a generator',
    'down by iteration',
    'down into a slow Writable',
  ])('%s, with a slow consumer, is never held in memory', async (way) => {
    const { origin } = await toFacts(start([join(folder, 'memory-server.mjs')]))
    const facts = await toFacts(start(['--expose-gc', join(folder, 'memory.mjs'), String(origin), way]))
    const { arrived, samples, before, highest, after } = facts
    expect(arrived).toBe(GIGABYTE)
    expect(samples).toBe(64)
    expect(Number(after) - Number(before)).toBeLessThan(64 * MEGABYTE)
    expect(Number(highest) - Number(before)).toBeLessThan(128 * MEGABYTE)
  })
})
