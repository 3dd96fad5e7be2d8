/** Each program of examples/ runs beside `dodici serve`, and prints what it promises. */

import { readdirSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { runNodeWith } from '../../support/clients/child.ts'
import type { Serve } from '../../support/clients/cli.ts'
import { makeFolder, removeFolder, startServe } from '../../support/clients/cli.ts'

const examples = fileURLToPath(new URL('../../../examples/', import.meta.url))

let folder = ''
let serve: Serve

beforeAll(async () => {
  folder = await makeFolder()
  serve = await startServe(folder)
  // Node reads it when it starts: that of the examples, which inherit it.
  vi.stubEnv('NODE_EXTRA_CA_CERTS', serve.caPath)
})

afterAll(async () => {
  vi.unstubAllEnvs()
  await serve?.running.kill()
  await removeFolder(folder)
})

/** Runs one to its end. What Node warns of isn't the example's. */
async function run(name: string, ...args: string[]): Promise<string[]> {
  const { code, signal, stdout, stderr } = await runNodeWith(
    ['--no-warnings'],
    join(examples, `${name}.mjs`),
    ...args,
  )
  expect([code, signal, stderr]).toEqual([0, null, ''])
  return stdout.trimEnd().split('\n')
}

const LINES: Readonly<Record<string, readonly string[]>> = {
  'json-client': [
    "posted { name: 'twelve', value: 12 }",
    'over HTTP/2.0',
    'StatusError: The server responded with 503: 503',
  ],
  upload: ['6888890 bytes, unchanged'],
  'server-sent-events': ['tick 1', 'tick 2', 'tick 3'],
  websocket: ['open: streams of HTTP/2: 1', 'back: one', 'back: two', 'back: three', 'closed: 1000 done'],
  'many-posts': ['{ delivered: 999, rejected: 1 }'],
  sdk: ['2 × tea', '1 × bread', '12 × figs'],
  install: ['before: HTTP/1.1', 'installed: HTTP/2.0', 'after: HTTP/1.1'],
  opentelemetry: ['the server knows the trace: true', 'GET 200', 'checkout has no status'],
  'grpc/greeter': ['Hello, twelve!', '1', '2', '3', 'GrpcError: there is no such method 12'],
  'threads/threads': [
    'a thread: its 100 squares add up to 328350, exit code 0',
    'a thread: its 100 squares add up to 328350, exit code 0',
    'a terminated thread: its connection closed, with 100 requests on it',
  ],
  discovery: ['1 added, 0 removed', 'a response of server a', '1 added, 1 removed', 'a response of server b'],
  'cluster/cluster': [
    '20 responses, by 2 processes',
    'a killed process: its response ended with ECONNRESET',
    'another process: 200',
    'a disconnected process: exit code 0',
  ],
}
/** Those that need more than a list of lines to be judged: each has a test of its own. */
const OTHERS = ['download', 'proxy']

describe('the example', () => {
  it.each(Object.entries(LINES))('%s prints what it promises', async (name, lines) => {
    expect(await run(name, serve.plain)).toEqual(lines)
  })

  it('download leaves a whole file, and nothing beside it', async () => {
    const file = join(folder, 'download')
    const lines = await run('download', `${serve.plain}/bytes/1000000`, file)
    expect(lines).toEqual(['25 %', '50 %', '75 %', '100 %', `1000000 bytes in ${file}`])
    expect((await readFile(file)).length).toBe(1_000_000)
    expect(readdirSync(folder)).not.toContain('download.part')
  })

  it('proxy goes through its proxy, and is refused without credentials', async () => {
    expect(await run('proxy', serve.secure)).toEqual([
      'the proxy opens a tunnel',
      'a response over HTTP/2.0',
      expect.stringMatching(/^ProxyConnectionError: .* refused a tunnel to localhost:\d+ with status 407$/),
    ])
  })

  it('is in the list of examples/README.md, which has the command of each', async () => {
    const page = await readFile(join(examples, 'README.md'), 'utf8')
    const files = readdirSync(examples).filter((name) => name !== 'README.md')
    for (const name of files) expect(page).toContain(`(${name})`)
    const programs = files.filter((name) => name.endsWith('.mjs')).map((name) => name.replace('.mjs', ''))
    const tested = [...Object.keys(LINES), ...OTHERS].toSorted()
    expect(programs.toSorted()).toEqual(tested.filter((name) => !name.includes('/')))
    const commands = [...page.matchAll(/^\| .*`(?:\S+=\S+ )?node examples\/(\S+)\.mjs`/gm)].map(
      ([, name]) => name,
    )
    expect(commands.toSorted()).toEqual(tested)
  })
})
