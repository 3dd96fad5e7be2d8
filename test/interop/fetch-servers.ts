/** The servers that the fetches are tested against. Each serves all tests of a file: they start in `beforeAll`. */

import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { PROGRAM_ENV } from '../../scripts/program-env.mjs'
import { findFreePort } from '../support/servers/free-port.ts'
import type { Program } from '../support/servers/programs.ts'
import { buildGo, requireProgram } from '../support/servers/programs.ts'
import { toCertificate } from '../support/servers/server.ts'
import { toApacheConfiguration, toMisdirectingScript, toNginxConfiguration } from './fetch-configurations.ts'

export type ServerName = 'nghttpd' | 'nginx' | 'apache' | 'go' | 'node'

/** A server that runs. */
export interface InteropServer {
  readonly origin: string
  /** The same server, where a connection is retired after ten requests. */
  readonly retiringOrigin: string
  /** To be trusted by `connect: { ca }`. */
  readonly ca: string
  /** The field by which each response tells that it came over HTTP/2, and what that says then. */
  readonly proof: { readonly name: string; readonly value: RegExp }
  /** Retires all connections; where there is none, a path does it. */
  readonly restart?: () => Promise<void>
}

/** What ends with a file of tests, the last first. */
export class Cleaner {
  readonly #steps: (() => Promise<unknown>)[] = []

  add(step: () => Promise<unknown>): void {
    this.#steps.push(step)
  }

  async clean(): Promise<void> {
    const failures: unknown[] = []
    for (const step of this.#steps.splice(0).reverse()) await step().catch((error) => failures.push(error))
    if (failures.length > 0) throw failures[0]
  }
}

/** The value that the server sends for HTTP/2.0 alone. */
const PROOF = { name: 'x-protocol', value: /^HTTP\/2\.0$/ }

/** Those of nginx and Apache that are their own; nghttpd's too. */
const FILES = {
  file: 'the content of a file',
  cookies: 'cookies',
  trailers: 'with trailers',
  compressed: 'compress me, '.repeat(1_000),
  large: Buffer.alloc(4 * 1024 * 1024, 'dodici'),
}

/** Another process may take a port between our look and the server's. */
const MAX_STARTS = 3
/** The test runner's options for Node are not for the child. */
const env = { ...PROGRAM_ENV, NODE_OPTIONS: '' }

const children = new URL('./children/', import.meta.url)

/** Collects the output of a process. */
class Voice {
  readonly ended: Promise<void>
  said = ''
  readonly #listeners = new Set<() => void>()

  constructor(child: ChildProcess) {
    for (const pipe of [child.stdout, child.stderr]) {
      pipe?.setEncoding('utf8').on('data', (text: string) => {
        this.said += text
        for (const listener of this.#listeners) listener()
      })
    }
    this.ended = new Promise((resolve) => child.on('error', () => {}).on('close', () => resolve()))
  }

  /** The output, once it matches; fails if the process ends before. */
  async hear(words: RegExp, from = 0): Promise<RegExpExecArray> {
    return await new Promise((resolve, reject) => {
      const listener = (): void => {
        const match = words.exec(this.said.slice(from))
        if (match === null) return
        this.#listeners.delete(listener)
        resolve(match)
      }
      this.#listeners.add(listener)
      void this.ended.then(() => reject(new Error(`It ended without ${words}. It said: ${this.said}`)))
      listener()
    })
  }
}

interface Launched {
  readonly child: ChildProcess
  readonly voice: Voice
  readonly match: RegExpExecArray
}

/** Starts a process that says this once it listens, and ends with the file of tests. */
export async function launch(
  cleaner: Cleaner,
  command: string,
  args: string[],
  ready: RegExp,
): Promise<Launched> {
  const child = spawn(command, args, { env, stdio: ['ignore', 'pipe', 'pipe'] })
  const voice = new Voice(child)
  cleaner.add(async () => {
    const hasCrashed = child.exitCode !== null || child.signalCode !== null
    // Its own way to end: killed, it would leave its workers behind.
    child.kill('SIGTERM')
    await voice.ended
    if (hasCrashed) throw new Error(`${command} ended by itself. It said: ${voice.said}`)
  })
  return { child, voice, match: await voice.hear(ready) }
}

/** With a port that must be known before. */
async function launchOnPort(start: (port: number) => Promise<Launched>): Promise<[number, Launched]> {
  for (let starts = 1; ; starts++) {
    const port = await findFreePort()
    try {
      return [port, await start(port)]
    } catch (error) {
      if (starts === MAX_STARTS) throw error
    }
  }
}

interface Folder {
  readonly path: string
  readonly key: string
  readonly certificate: string
  readonly root: string
  readonly ca: string
}

export async function makeFolder(cleaner: Cleaner, name: string): Promise<Folder> {
  const path = await mkdtemp(join(tmpdir(), `dodici-fetch-${name}-`))
  cleaner.add(() => rm(path, { recursive: true, force: true }))
  // A server that was started by root serves as another user, who needs access.
  await chmod(path, 0o755)
  const { private: privateKey, cert } = await toCertificate()
  const [key, certificate, root] = [join(path, 'key.pem'), join(path, 'certificate.pem'), join(path, 'root')]
  await writeFile(key, privateKey)
  await writeFile(certificate, cert)
  await mkdir(root)
  for (const [file, content] of Object.entries(FILES)) await writeFile(join(root, file), content)
  return { path, key, certificate, root, ca: cert }
}

function toServer(port: number, ca: string, more: Partial<InteropServer> = {}): InteropServer {
  const origin = `https://localhost:${port}`
  return { origin, retiringOrigin: origin, ca, proof: PROOF, ...more }
}

const script = fileURLToPath(new URL('fetch-server.mjs', children))
const LISTENING = /^listening (\d+)$/m

/** What has to be installed for each. */
const NEEDS: Readonly<Record<ServerName, Program | null>> = {
  node: null,
  go: 'go',
  nghttpd: 'nghttpd',
  nginx: 'nginx',
  apache: 'apache2',
}

/** The upstream of nginx and Apache, for requests that they can't serve themselves. */
async function startUpstream(cleaner: Cleaner): Promise<string> {
  const { match } = await launch(cleaner, process.execPath, [script], LISTENING)
  return `http://127.0.0.1:${match[1]}`
}

const STARTS: Readonly<Record<ServerName, (cleaner: Cleaner) => Promise<InteropServer>>> = {
  async node(cleaner) {
    const { key, certificate, ca } = await makeFolder(cleaner, 'node')
    const { match } = await launch(cleaner, process.execPath, [script, key, certificate], LISTENING)
    return toServer(Number(match[1]), ca)
  },

  async go(cleaner) {
    const { path, key, certificate, ca } = await makeFolder(cleaner, 'go')
    const binary = join(path, 'server')
    await buildGo(binary, { file: fileURLToPath(new URL('fetch-server.go', children)) })
    const { match } = await launch(cleaner, binary, ['-key', key, '-certificate', certificate], LISTENING)
    return toServer(Number(match[1]), ca)
  },

  async nghttpd(cleaner) {
    const { key, certificate, root, ca } = await makeFolder(cleaner, 'nghttpd')
    const options = ['--address=127.0.0.1', `--htdocs=${root}`, '--echo-upload', '--trailer=x-sum: a1b2c3']
    const [port] = await launchOnPort((port) =>
      launch(
        cleaner,
        'nghttpd',
        [...options, '--verbose', `${port}`, key, certificate],
        /listen 127\.0\.0\.1/,
      ),
    )
    // It speaks nothing but HTTP/2, and puts its name on each response.
    return toServer(port, ca, { proof: { name: 'server', value: /^nghttpd / } })
  },

  async nginx(cleaner) {
    const folder = await makeFolder(cleaner, 'nginx')
    const upstream = await startUpstream(cleaner)
    const retiringPort = await findFreePort()
    const file = join(folder.path, 'nginx.conf')
    const [port] = await launchOnPort(async (port) => {
      await writeFile(file, toNginxConfiguration({ ...folder, upstream, port, retiringPort }))
      const args = ['-p', folder.path, '-c', file, '-e', 'stderr']
      return await launch(cleaner, 'nginx', args, /start worker processes/)
    })
    return toServer(port, folder.ca, { retiringOrigin: `https://localhost:${retiringPort}` })
  },

  async apache(cleaner) {
    const folder = await makeFolder(cleaner, 'apache')
    const upstream = await startUpstream(cleaner)
    const file = join(folder.path, 'apache.conf')
    await writeFile(join(folder.path, 'misdirected.lua'), toMisdirectingScript())
    const ready = /resuming normal operations/
    const [port, { child, voice }] = await launchOnPort(async (port) => {
      await writeFile(file, toApacheConfiguration({ ...folder, upstream, port }))
      return await launch(cleaner, 'apache2', ['-f', file, '-D', 'FOREGROUND'], ready)
    })
    const restart = async (): Promise<void> => {
      const from = voice.said.length
      child.kill('SIGUSR1')
      await voice.hear(ready, from)
    }
    return toServer(port, folder.ca, { restart })
  },
}

/** Starts one on the loopback interface. */
export async function startServer(name: ServerName, cleaner: Cleaner): Promise<InteropServer> {
  const program = NEEDS[name]
  if (program !== null) requireProgram(program)
  return await STARTS[name](cleaner)
}
