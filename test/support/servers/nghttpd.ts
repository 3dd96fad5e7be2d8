import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { PROGRAM_ENV } from '../../../scripts/program-env.mjs'
import { findFreePort } from './free-port.ts'
import { lacks, requireProgram } from './programs.ts'
import { toCertificate } from './server.ts'
import { isListening } from './server-process.ts'

/** A running nghttpd: the HTTP/2 server of nghttp2, which is none of Node's. */
export interface Nghttpd {
  readonly origin: string
  /** The certificate of a TLS server, to be trusted by `connect: { ca }`. */
  readonly ca: string
  /** Ends it, and gives its log: each frame that it received or sent. */
  stop(): Promise<string>
}

interface NghttpdOptions {
  readonly tls?: boolean
  /** What it serves, by path without the leading slash. */
  readonly files?: Readonly<Record<string, string | Uint8Array>>
  /** Further options of its command line. */
  readonly args?: readonly string[]
}

export const lacksNghttpd = lacks('nghttpd')

/** Another process may take a port between our look and nghttpd's. */
const MAX_STARTS = 3

/** Starts an nghttpd on the loopback interface that ends with the test, with all that it left on the disk. */
export async function startNghttpd(options: NghttpdOptions = {}): Promise<Nghttpd> {
  requireProgram('nghttpd')
  const { tls = false, files = {}, args = [] } = options
  const folder = await mkdtemp(join(tmpdir(), 'dodici-nghttpd-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const root = join(folder, 'root')
  await mkdir(root)
  for (const [name, content] of Object.entries(files)) await writeFile(join(root, name), content)

  const credentials: string[] = []
  let ca = ''
  if (tls) {
    const { private: key, cert } = await toCertificate()
    credentials.push(join(folder, 'key.pem'), join(folder, 'cert.pem'))
    await Promise.all([key, cert].map((pem, index) => writeFile(credentials[index] ?? '', pem)))
    ca = cert
  }

  const common = ['--verbose', '--address=127.0.0.1', `--htdocs=${root}`, ...args]
  for (let starts = 1; ; starts++) {
    const port = await findFreePort()
    const child = spawn('nghttpd', [...common, ...(tls ? [] : ['--no-tls']), `${port}`, ...credentials], {
      env: PROGRAM_ENV,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let log = ''
    for (const pipe of [child.stdout, child.stderr]) {
      pipe.setEncoding('utf8').on('data', (text: string) => {
        log += text
      })
    }
    const closed = once(child, 'close')
    const stop = async (): Promise<string> => {
      child.kill('SIGKILL')
      await closed
      return log
    }
    onTestFinished(async () => void (await stop()))
    if (await isListening(child, port)) {
      return { origin: tls ? `https://localhost:${port}` : `http://127.0.0.1:${port}`, ca, stop }
    }
    await stop()
    if (starts === MAX_STARTS) throw new Error(`nghttpd did not start ${starts} times. It said: ${log}`)
  }
}
