/** Children that are started with flags of Node's, and speak lines of JSON. */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { afterAll, beforeAll, expect, onTestFinished } from 'vitest'

type RunChild = (flags: readonly string[], ...args: string[]) => Promise<unknown[]>

/** What a child of `children/` says, once it has ended well. It is built before the tests of the file that asks. */
export function toChild(name: string): RunChild {
  let folder = ''

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'dodici-websocket-'))
    await build({
      entryPoints: [fileURLToPath(new URL(`./children/${name}.mjs`, import.meta.url))],
      outdir: folder,
      outExtension: { '.js': '.mjs' },
      bundle: true,
      format: 'esm',
      platform: 'node',
      target: 'node20',
    })
  })

  afterAll(() => rm(folder, { recursive: true, force: true }))

  return async (flags, ...args) => {
    const child = spawn(
      process.execPath,
      ['--disable-warning=ExperimentalWarning', ...flags, join(folder, `${name}.mjs`), ...args],
      // What the test runner passes to Node is not for the child.
      { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, NODE_OPTIONS: '' } },
    )
    const said = { stdout: '', stderr: '' }
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      said.stdout += text
    })
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      said.stderr += text
    })
    const closed = once(child, 'close')
    onTestFinished(async () => {
      child.kill('SIGKILL')
      await closed
    })
    await closed
    const warnings = /^\(node:\d+\) \[UNDICI-(?:WS|ES)\].*\n|^\(Use `node --trace-warnings.*\n/gm
    expect(said.stderr.replace(warnings, '')).toBe('')
    expect([child.exitCode, child.signalCode]).toEqual([0, null])
    return said.stdout
      .trimEnd()
      .split('\n')
      .map((line): unknown => JSON.parse(line))
  }
}
