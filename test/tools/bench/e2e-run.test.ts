import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { PROGRAM_ENV } from '../../../scripts/program-env.mjs'
import { runNode } from '../../support/clients/child.ts'
import { toRounds } from '../../support/clocks/sample.ts'
import { GO_BUILD_LIMIT } from '../../support/servers/restarting-server.ts'
import type { Entry } from './report-result.ts'

const script = fileURLToPath(new URL('../../../bench/e2e/run.mjs', import.meta.url))

interface Result {
  readonly schema: number
  readonly date: string
  readonly command: string
  readonly machine: { readonly node: string; readonly server: string; readonly cores: number }
  readonly rounds: number
  readonly scenarios: readonly {
    readonly name: string
    readonly requests: number
    readonly warmup: number
    readonly entries: readonly Entry[]
  }[]
}

interface Run {
  readonly result: Result
  readonly stdout: string
  readonly stderr: string
}

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
const hasUndici8 = major > 22 || (major === 22 && minor >= 19)
const hasGot = major >= 22

const hasH2load = spawnSync('h2load', ['--version'], { env: PROGRAM_ENV }).error === undefined
const goVersion = /^go1\.(\d+)/.exec(
  spawnSync('go', ['env', 'GOVERSION'], { encoding: 'utf8', env: PROGRAM_ENV }).stdout ?? '',
)
const hasGo = Number(goVersion?.[1]) >= 26
const manifest = fileURLToPath(new URL('../../../bench/e2e/clients/rust/Cargo.toml', import.meta.url))
const cargoArgs = ['fetch', '--quiet', '--locked', '--manifest-path', manifest]
const hasCargo = spawnSync('cargo', cargoArgs, { env: PROGRAM_ENV }).status === 0

const FLOORS = ['floor frames', 'floor-hpack frames']
const UNDICI_REQUEST = ['undici request', 'undici-http1 request', 'undici-http1-pipelined request']
const UNDICI = [
  ...['undici request', 'undici fetch', 'undici-http1 request', 'undici-http1 fetch'],
  'undici-http1-pipelined request',
]

/** Go's client, and Rust's. Milliseconds. */
const BUILD_LIMIT = 2 * GO_BUILD_LIMIT

/** As many requests as show that it works: what is measured here is worth nothing. */
const few = ['--rounds', '1', '--requests', '40', '--warmup', '20']

let folder = ''

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'dodici-bench-'))
})

afterAll(() => rm(folder, { recursive: true, force: true }))

async function bench(...args: string[]): Promise<Run> {
  const { code, stdout, stderr } = await runNode(script, ...few, '--results', folder, ...args)
  expect([code, stderr.split('\n').filter((line) => !line.includes(': round '))]).toEqual([0, ['']])
  const result: Result = JSON.parse(await readFile(join(folder, 'latest.json'), 'utf8'))
  return { result, stdout, stderr }
}

/** Who was measured, as `client api`. */
const toNames = ({ scenarios }: Result): string[] =>
  scenarios.flatMap(({ entries }) => entries.map(({ client, api }) => `${client} ${api}`))

/** Who can be: the name stays when this Node, or this machine, has what it needs. */
const ifThere = (isThere: boolean, ...names: string[]): string[] => (isThere ? names : [])

/** Whether a figure is one: for programs that can't tell, null will do. */
function isFigure(value: number | null, mayBeNull: boolean, lowest = 0): boolean {
  return value === null ? mayBeNull : Number.isFinite(value) && value > lowest
}

/** The names of the figures that can't be right. */
function findImplausible({ client, rounds }: Entry): string[] {
  const isProgram = ['go', 'rust', 'h2load'].includes(client)
  return rounds.flatMap((round) => {
    const checks = {
      version: /\d+\.\d+/.test(round.version),
      requestsPerSecond: isFigure(round.requestsPerSecond, false),
      // The shell tells h2load's in whole milliseconds.
      cpuMicros: isFigure(round.cpuMicros, false, -1),
      p50Micros: isFigure(round.p50Micros, client === 'h2load'),
      p99Micros:
        isFigure(round.p99Micros, client === 'h2load') && (round.p99Micros ?? 0) >= (round.p50Micros ?? 0),
      // A response of 1 KiB with its headers can't cost less.
      allocatedBytes: isFigure(round.allocatedBytes, isProgram, 1000),
      gcMicros: isFigure(round.gcMicros, isProgram, -1),
      residentBytes: isFigure(round.residentBytes, client === 'h2load', 2 ** 20),
    }
    return Object.entries(checks)
      .filter(([, isPlausible]) => !isPlausible)
      .map(([name]) => `${client}: ${name}`)
  })
}

describe('a run of all clients', () => {
  it(
    'measures request() and fetch() of each over h2c, and says who was left out and why',
    async () => {
      const { result, stdout } = await bench('--scenario', 'get-1k', '--apis', 'request,fetch')
      expect(toNames(result)).toEqual([
        ...['dodici request', 'dodici fetch', 'dodici-wire request', 'dodici-wire fetch'],
        ...ifThere(hasUndici8, ...UNDICI),
        ...[
          ...FLOORS,
          'node-http2 session.request',
          'node-fetch-h2 fetch',
          'node-fetch fetch',
          'axios request',
        ],
        ...['fetch-h2 fetch', 'connect-node request'],
        ...[...ifThere(hasGo, 'go request'), ...ifThere(hasCargo, 'rust request')],
        ...ifThere(hasH2load, 'h2load request'),
      ])
      const leftOut = stdout.split('\n').filter((line) => line.startsWith('Left out'))
      const on = `and the clients run on ${process.versions.node}.`
      expect(leftOut).toEqual([
        ...ifThere(
          !hasUndici8,
          ...['undici 8', 'undici 8 (HTTP/1.1)', 'undici 8 (HTTP/1.1, pipelined)'].map(
            (label) => `Left out: ${label} needs Node 22.19, ${on}`,
          ),
        ),
        ...ifThere(!hasGot, `Left out: got needs Node 22.0, ${on}`),
        ...ifThere(
          !hasGo,
          expect.stringMatching(/^Left out: Go net\/http, which (is not installed|needs Go 1\.26)/),
        ),
        ...ifThere(
          !hasCargo,
          expect.stringMatching(/^Left out: Rust hyper, (as cargo is not installed|whose crates cannot)/),
        ),
        ...ifThere(!hasH2load, 'Left out: h2load (C), which is not installed.'),
        ...ifThere(hasGot, 'Left out of get-1k: request of got, which speaks HTTP/2 over TLS only.'),
      ])
      expect(result.scenarios.flatMap(({ entries }) => entries.flatMap(findImplausible))).toEqual([])
    },
    BUILD_LIMIT,
  )

  it(
    'measures request() and fetch() of each over TLS',
    async () => {
      const { result, stdout } = await bench('--scenario', 'get-1k-tls', '--apis', 'request,fetch')
      const reason =
        'Left out of get-1k-tls: fetch of fetch-h2, which needs an older Node for TLS to an address.'
      expect(stdout.includes(reason)).toBe(major >= 26)
      expect(toNames(result)).toEqual([
        ...['dodici request', 'dodici fetch', 'dodici-wire request', 'dodici-wire fetch'],
        ...ifThere(hasUndici8, ...UNDICI),
        ...[
          ...FLOORS,
          'node-http2 session.request',
          'node-fetch-h2 fetch',
          'node-fetch fetch',
          'axios request',
        ],
        ...[
          ...ifThere(hasGot, 'got request'),
          ...ifThere(major < 26, 'fetch-h2 fetch'),
          'connect-node request',
        ],
        ...[...ifThere(hasGo, 'go request'), ...ifThere(hasH2load, 'h2load request')],
      ])
    },
    BUILD_LIMIT,
  )

  it(
    'measures them over ten origins, with one connection to each',
    async () => {
      const { result, stdout } = await bench('--scenario', 'get-1k-origins-10', '--apis', 'request')
      expect(toNames(result)).toEqual([
        ...['dodici request', 'dodici-wire request', ...ifThere(hasUndici8, ...UNDICI_REQUEST)],
        ...[
          ...FLOORS,
          'node-http2 session.request',
          'axios request',
          'connect-node request',
          ...ifThere(hasGo, 'go request'),
        ],
      ])
      expect(stdout).toContain('10 origins, one connection each, h2c, server node:http2')
    },
    BUILD_LIMIT,
  )
})

describe('a run', () => {
  it('writes machine, versions, counts and the command line, and the same where --json says', async () => {
    const json = join(folder, 'copy.json')
    const { result, stdout } = await bench('--scenario', 'post-1k', '--clients', 'node-http2', '--json', json)
    expect(result).toMatchObject({
      schema: 1,
      command: expect.stringMatching(/^npm run bench -- --rounds 1 --requests 40 /),
      machine: { node: process.versions.node, cores: expect.any(Number), server: expect.any(String) },
      rounds: 1,
      scenarios: [{ name: 'post-1k', requests: 40, warmup: 20, bodyBytes: 1024, origins: 1, latency: 0 }],
    })
    expect(new Date(result.date).toISOString()).toBe(result.date)
    expect(JSON.parse(await readFile(json, 'utf8'))).toEqual(result)
    expect(await readdir(folder)).toContain('report.html')
    expect(stdout).toContain(join(folder, 'report.html'))
  })

  it('lets another client go first in each round', async () => {
    const args = ['--scenario', 'get-1k', '--apis', 'dispatch,request', '--clients', 'dodici,connect-node']
    const { result, stderr } = await bench(...args, '--rounds', '2')
    expect(result.scenarios[0]?.entries.map(({ rounds }) => rounds.length)).toEqual([2, 2, 2])
    expect(stderr.trimEnd().split('\n')).toEqual([
      'get-1k: round 1 of 2, dodici dispatch',
      'get-1k: round 1 of 2, dodici request',
      'get-1k: round 1 of 2, connect-node request',
      'get-1k: round 2 of 2, connect-node request',
      'get-1k: round 2 of 2, dodici dispatch',
      'get-1k: round 2 of 2, dodici request',
    ])
  })

  it('measures the build that --dodici names', async () => {
    const outfile = join(folder, 'build', 'dodici.js')
    const entryPoints = [fileURLToPath(new URL('../../../src/index.ts', import.meta.url))]
    await build({ entryPoints, outfile, bundle: true, format: 'esm', platform: 'node', target: 'node20' })
    await writeFile(join(folder, 'build', 'package.json'), '{ "type": "module", "version": "99.1.2" }')
    const clients = 'dodici,dodici-wire,node-http2'
    const args = ['--scenario', 'rounds-80x200', '--apis', 'dispatch', '--clients', clients]
    const { result } = await bench(...args, '--dodici', outfile)
    const versions = result.scenarios[0]?.entries.map(({ version }) => version)
    expect(versions).toEqual(['99.1.2', '99.1.2', process.versions.node])
  })

  it('measures over an emulated round trip, on one connection and on many', async () => {
    const args = ['--scenario', 'get-1k-latency', '--clients', 'node-http2,node-fetch', '--requests', '400']
    const { result, stdout } = await bench(...args, '--apis', 'fetch')
    expect(toNames(result)).toEqual(['node-http2 session.request', 'node-fetch fetch'])
    expect(stdout).toContain('one connection, h2c, 20 ms of emulated round trip')
    // The relay's timers are never early by more than one of their milliseconds, each way.
    for (const { rounds } of result.scenarios[0]?.entries ?? [])
      expect(rounds[0]?.p50Micros).toBeGreaterThan(18_000)
  })

  it('measures what the windows and the limit of streams hold up, of the floors as of others', async () => {
    const names = 'post-1m,post-1m-large-windows,post-64k-tls,get-1m,get-1k-1000'
    for (const server of ['node', ...ifThere(hasH2load, 'nghttpd')]) {
      const args = [
        '--clients',
        'floor,floor-hpack',
        '--scenario',
        names,
        '--apis',
        'dispatch',
        '--server',
        server,
      ]
      const { result } = await bench(...args, '--requests', `${toRounds(600, 60)}`, '--warmup', '30')
      expect(toNames(result)).toEqual(Array(5).fill(FLOORS).flat())
    }
  })

  it('measures bodies from a Readable, and says whose body is a Buffer in any case', async () => {
    const args = ['--scenario', 'post-1m-readable', '--apis', 'request,fetch']
    const { result, stdout } = await bench(...args, '--clients', 'dodici,dodici-wire,floor,node-http2,axios')
    expect(toNames(result)).toEqual([
      ...['dodici request', 'dodici fetch', 'dodici-wire request', 'dodici-wire fetch'],
      ...['floor frames', 'node-http2 session.request'],
    ])
    expect(stdout).toContain('request of axios, which is measured with a Buffer for its body only.')
    expect(stdout).toContain('one connection, h2c, from a Readable')
  })

  it('measures requests with a path of their own each', async () => {
    const args = [
      '--scenario',
      'get-1k-varying',
      '--apis',
      'request',
      '--clients',
      'dodici-wire,floor,floor-hpack',
    ]
    const { result, stdout } = await bench(...args)
    expect(toNames(result)).toEqual(['dodici-wire request', ...FLOORS])
    expect(stdout).toContain('h2c, paths and responses that differ, server node:http2')
  })

  it('measures tunnels, and says what undici cannot do', async () => {
    const { result, stdout } = await bench(
      '--scenario',
      'tunnel-1k-tls,post-1k-tls',
      '--apis',
      'pipeline,connect,upgrade',
    )
    const tunnels = ['connect', 'upgrade']
    const withTunnels = ['dodici', 'dodici-wire', ...ifThere(hasUndici8, 'undici'), 'node-http2']
    expect(toNames(result)).toEqual([
      ...['dodici pipeline', 'dodici-wire pipeline', ...FLOORS, 'node-http2 session.request'],
      ...withTunnels.flatMap((client) => tunnels.map((api) => `${client} ${api}`)),
    ])
    if (hasUndici8)
      expect(stdout).toContain('Left out of post-1k-tls: pipeline of undici 8, which loses data there.')
  })

  it('fails when a client gets a wrong response, and names it', async () => {
    const outfile = join(folder, 'broken.mjs')
    const response = "{ statusCode: 500, body: { text: async () => '' } }"
    await writeFile(
      outfile,
      `export class Client { async request() { return ${response} } }\nexport class Agent {}\n`,
    )
    const args = ['--scenario', 'get-1k', '--apis', 'request', '--clients', 'dodici', '--dodici', outfile]
    const { code, stderr } = await runNode(script, ...few, '--results', folder, ...args)
    expect(code).toBe(1)
    expect(stderr).toContain('get-1k, dodici request: ended with exit code 1')
    expect(stderr).toContain('a wrong response: status 500, 0 bytes instead of 1024')
  })

  it('fails when a client dies in the middle of a turn, and names it', async () => {
    const outfile = join(folder, 'dying.mjs')
    // Warm-up and what comes before the clock starts are 60 of them.
    const response = "{ statusCode: 200, body: { text: async () => 'a'.repeat(1024) } }"
    const die = 'if (++asked === 70) process.exit(7)'
    await writeFile(
      outfile,
      `let asked = 0\nexport class Client { async request() { ${die}; return ${response} } }\nexport class Agent {}\n`,
    )
    const args = ['--scenario', 'get-1k', '--apis', 'request', '--clients', 'dodici', '--dodici', outfile]
    const { code, stderr } = await runNode(script, ...few, '--results', folder, ...args)
    expect(code).toBe(1)
    expect(stderr).toContain('get-1k, dodici request: ended with exit code 7')
  })

  it('leaves nothing behind when it is interrupted', async () => {
    const temporary = join(folder, 'temporary')
    await mkdir(temporary)
    const args = ['--scenario', 'get-1k', '--clients', 'node-http2', '--rounds', '100']
    const child = spawn(process.execPath, [script, ...args, '--results', folder], {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: { ...process.env, NODE_OPTIONS: '', TMPDIR: temporary },
    })
    const closed = once(child, 'close')
    onTestFinished(async () => {
      child.kill('SIGKILL')
      await closed
    })
    await once(child.stderr, 'data')
    expect(await readdir(temporary)).toHaveLength(1)
    child.kill('SIGINT')
    expect(await closed).toEqual([1, null])
    expect(await readdir(temporary)).toEqual([])
  })
})
