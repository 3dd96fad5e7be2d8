/** The process of the servers, which serves all cases of a file. */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { toCertificate } from '../../support/servers/server.ts'

export type Protocol = 'HTTP/1.1' | 'HTTP/2'

/** What listens, all on the loopback interface. */
export interface Servers {
  /** By protocol: an origin, and one that isn't the same. */
  readonly origins: Readonly<Record<Protocol, readonly [string, string]>>
  /** The server that responds over HTTP/1.1 with bytes that no server of Node's would send. */
  readonly raw: string
  /** To be trusted by `connect: { ca }`. */
  readonly ca: string
  stop(): Promise<void>
}

type Ports = Readonly<Record<'http1' | 'otherHttp1' | 'http2' | 'otherHttp2' | 'raw', number>>

const script = fileURLToPath(new URL('standard-server.mjs', import.meta.url))

export async function startServers(): Promise<Servers> {
  const { private: key, cert } = await toCertificate()
  // What the test runner passes to Node is not for the child.
  const env = { ...process.env, NODE_OPTIONS: '' }
  const child = spawn(process.execPath, [script], { stdio: ['pipe', 'pipe', 'inherit'], env })
  const closed = once(child, 'close')
  child.stdin.end(JSON.stringify({ key, cert }))
  const lines = createInterface({ input: child.stdout })
  const [line]: string[] = await Promise.race([
    once(lines, 'line'),
    closed.then(() => Promise.reject(new Error('The servers ended before they listened'))),
  ])
  const ports: Ports = JSON.parse(line ?? '')
  return {
    origins: {
      'HTTP/1.1': [`http://localhost:${ports.http1}`, `http://localhost:${ports.otherHttp1}`],
      'HTTP/2': [`https://localhost:${ports.http2}`, `https://localhost:${ports.otherHttp2}`],
    },
    raw: `http://localhost:${ports.raw}`,
    ca: cert,
    async stop() {
      child.kill('SIGKILL')
      await closed
    },
  }
}
