/** What a start of the program loads. Counted, not timed. */

import { execFile } from 'node:child_process'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import module from 'node:module'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { CLI, makeFolder, removeFolder } from '../../support/clients/cli.ts'

let folder = ''
/** Writes what the process has loaded beyond what Node loads for each program. */
let preload = ''

beforeAll(async () => {
  folder = await makeFolder()
  preload = join(folder, 'preload.cjs')
  await writeFile(
    preload,
    `const before = new Set(process.moduleLoadList)
const { writeFileSync } = require('fs')
process.on('exit', () => {
  const loaded = process.moduleLoadList.filter((name) => !before.has(name))
  writeFileSync(process.env.LOADED, loaded.map((name) => name.replace('NativeModule ', '')).join('\\n'))
})
`,
  )
})

afterAll(() => removeFolder(folder))

/** The modules of Node that a command line loads. */
async function toLoaded(args: readonly string[]): Promise<readonly string[]> {
  const file = join(folder, 'loaded')
  const env = { ...process.env, NODE_OPTIONS: '', LOADED: file, TMPDIR: folder }
  // Of one that isn't known, the exit code is 2.
  await promisify(execFile)(process.execPath, ['-r', preload, CLI, ...args], { env }).catch(() => {})
  return (await readFile(file, 'utf8')).split('\n')
}

/** Modules that the commands need, and that take time to load. */
const COSTLY = [
  ...['fs/promises', 'worker_threads', 'crypto', 'tls', 'http', 'http2', 'zlib'],
  ...['perf_hooks', 'timers/promises', 'internal/dns/promises', 'readline', 'assert', 'internal/util/diff'],
]

describe('without a command', () => {
  it.each([[['--help']], [['-V']], [['sevre']], [[]]])('%j: loads no module of a command', async (args) => {
    const loaded = await toLoaded(args)
    // It writes to a pipe.
    expect(loaded).toContain('net')
    expect(loaded.filter((name) => COSTLY.includes(name))).toEqual([])
  })

  it('loads the entry and its parts, 12 kB at most', async () => {
    const files = new Map<string, string>()
    const add = async (file: string): Promise<void> => {
      if (files.has(file)) return
      const text = await readFile(file, 'utf8')
      files.set(file, text)
      // What a command loads when it runs has `import(`.
      for (const [, path = ''] of text.matchAll(/\b(?:from|import)\s*"(\..*?)"/g))
        await add(join(dirname(file), path))
    }
    await add(CLI)
    const names = [...files.keys()].map((file) => file.slice(dirname(CLI).length + 1))
    expect(names.filter((name) => !/^(cli\.js|parts\/cli-chunk-\w+\.js)$/.test(name))).toEqual([])
    expect([...files.values()].join('').length).toBeLessThan(12_000)
  })
})

describe('with a command', () => {
  it('has its code, and no other: serve loads no client', async () => {
    expect(await toLoaded(['ca', '--help'])).not.toContain('http2')
    expect(await toLoaded(['serve', '--help'])).toContain('http2')
  })

  it('Node keeps what it has compiled, where it can', async () => {
    const cache = join(folder, 'cache')
    const env = { ...process.env, NODE_OPTIONS: '', TMPDIR: folder, XDG_CACHE_HOME: cache }
    await promisify(execFile)(process.execPath, [CLI, 'serve', '--help'], { env })
    // Node 20 has no such cache.
    const isThere = (await readdir(folder)).includes('node-compile-cache')
    expect(isThere).toBe('enableCompileCache' in module)
  })
})
