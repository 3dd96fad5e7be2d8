/** Clients that others wrote, for tests of the fault server: each asks for some paths, one after the other. */

import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import type { ClientHttp2Session } from 'node:http2'
import { connect } from 'node:http2'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { Http2SessionManager } from '@connectrpc/connect-node'
import axios from 'axios'
import got from 'got'
import { buildGo, lacks, PROGRAM_PATH, requireProgram } from '../support/programs.ts'

const run = promisify(execFile)
const MAJOR = Number(process.versions.node.split('.')[0])

/** What a client has of a response. `error`: it failed, whenever that was. */
export interface Answer {
  readonly status: number
  readonly text: string
  readonly error: string
}

export interface FaultClient {
  readonly name: string
  /** What it speaks HTTP/2 over. */
  readonly transports: readonly ('h2c' | 'TLS')[]
  /** Missing programs leave it out, outside of CI. */
  readonly isLacking?: boolean
  /** A GOAWAY with NO_ERROR fails the requests that wait for their responses, against RFC 9113 §6.8. */
  readonly losesRetired?: boolean
  /** Asks for each path in turn, with one pool of connections. */
  ask(origin: string, ca: string | null, paths: readonly string[]): Promise<Answer[]>
}

const BOTH = ['h2c', 'TLS'] as const

async function inTurn(
  paths: readonly string[],
  ask: (path: string) => Promise<Omit<Answer, 'error'>>,
): Promise<Answer[]> {
  const answers: Answer[] = []
  for (const path of paths) {
    answers.push(
      await ask(path).then(
        (answer) => ({ ...answer, error: '' }),
        (error: Error) => ({ status: 0, text: '', error: String(error) }),
      ),
    )
  }
  return answers
}

/** undici 8 needs Node 22.19. */
const undici = await import(MAJOR >= 22 ? 'undici-8' : 'undici')

/** The undici of the same line as the one inside of Node, which its fetch takes for its own. */
const builtinUndici = await import(MAJOR >= 26 ? 'undici-8' : MAJOR >= 24 ? 'undici' : 'undici-6')

async function withFolder<Value>(
  ca: string | null,
  use: (folder: string, file: string) => Promise<Value>,
): Promise<Value> {
  const folder = await mkdtemp(join(tmpdir(), 'dodici-faults-'))
  try {
    const file = join(folder, 'ca.pem')
    await writeFile(file, ca ?? '')
    return await use(folder, file)
  } finally {
    await rm(folder, { recursive: true })
  }
}

async function fetchAll(
  allowH2: boolean,
  origin: string,
  ca: string | null,
  paths: readonly string[],
): Promise<Answer[]> {
  const agent = new builtinUndici.Agent({ allowH2, connect: ca === null ? {} : { ca } })
  try {
    return await inTurn(paths, async (path) => {
      const response = await fetch(`${origin}${path}`, { dispatcher: agent } as RequestInit)
      return { status: response.status, text: await response.text() }
    })
  } finally {
    await agent.destroy()
  }
}

function askSession(session: ClientHttp2Session, path: string): Promise<Omit<Answer, 'error'>> {
  return new Promise((resolve, reject) => {
    session.on('error', reject)
    const stream = session.request({ ':path': path })
    let status = 0
    let text = ''
    stream.on('response', (headers) => {
      status = Number(headers[':status'])
    })
    stream.setEncoding('utf8')
    stream.on('data', (chunk: string) => {
      text += chunk
    })
    stream.on('end', () => resolve({ status, text }))
    stream.on('error', reject)
    stream.on('aborted', () => reject(new Error('aborted')))
  })
}

const curl: FaultClient = {
  name: 'curl',
  transports: BOTH,
  isLacking: lacks('curl'),
  ask: (origin, ca, paths) =>
    withFolder(ca, async (folder, file) => {
      requireProgram('curl')
      const common = ['--silent', '--show-error', '--noproxy', '*', '--max-time', '30']
      const http2 = ca === null ? ['--http2-prior-knowledge'] : ['--http2', '--cacert', file]
      return inTurn(paths, async (path) => {
        const args = [
          ...common,
          ...http2,
          '--write-out',
          '\n%{http_code}',
          '--output',
          '-',
          `${origin}${path}`,
        ]
        const { stdout } = await run('curl', args, {
          env: { ...process.env, PATH: PROGRAM_PATH },
          cwd: folder,
        })
        const [status = '', ...lines] = stdout.split('\n').reverse()
        return { status: Number(status), text: lines.reverse().join('\n') }
      })
    }),
}

const go: FaultClient = {
  name: "Go's net/http",
  // Without TLS it speaks HTTP/2 from Go 1.24 on.
  transports: ['TLS'],
  isLacking: lacks('go'),
  ask: (origin, ca, paths) =>
    withFolder(ca, async (folder, file) => {
      const binary = join(folder, 'client')
      await buildGo(binary, { file: fileURLToPath(new URL('./children/fault-client.go', import.meta.url)) })
      const { stdout } = await run(binary, [file, ...paths.map((path) => `${origin}${path}`)])
      return JSON.parse(stdout)
    }),
}

export const CLIENTS: readonly FaultClient[] = [
  {
    name: 'undici',
    losesRetired: true,
    transports: MAJOR >= 22 ? BOTH : ['TLS'],
    async ask(origin, ca, paths) {
      const h2c = ca === null ? { useH2c: true } : {}
      const agent = new undici.Agent({ allowH2: true, connect: ca === null ? {} : { ca }, ...h2c })
      try {
        return await inTurn(paths, async (path) => {
          const { statusCode, body } = await undici.request(`${origin}${path}`, { dispatcher: agent })
          return { status: statusCode, text: await body.text() }
        })
      } finally {
        await agent.destroy()
      }
    },
  },
  {
    name: 'node:http2',
    transports: BOTH,
    ask: (origin, ca, paths) =>
      inTurn(paths, async (path) => {
        const session = connect(origin, ca === null ? {} : { ca })
        try {
          return await askSession(session, path)
        } finally {
          session.destroy()
        }
      }),
  },
  {
    name: 'got',
    transports: ['TLS'],
    ask: (origin, ca, paths) =>
      inTurn(paths, async (path) => {
        const https = ca === null ? {} : { certificateAuthority: ca }
        const { statusCode, body } = await got(`${origin}${path}`, {
          http2: true,
          https,
          retry: { limit: 0 },
        })
        return { status: statusCode, text: body }
      }),
  },
  {
    name: 'axios',
    transports: BOTH,
    ask: (origin, ca, paths) => {
      const instance = axios.create({
        httpVersion: 2,
        http2Options: ca === null ? {} : { ca },
        proxy: false,
        responseType: 'text',
      })
      return inTurn(paths, async (path) => {
        const { status, data } = await instance.get(`${origin}${path}`)
        return { status, text: data }
      })
    },
  },
  {
    name: 'connect-node',
    transports: BOTH,
    async ask(origin, ca, paths) {
      const manager = new Http2SessionManager(origin, {}, ca === null ? {} : { ca })
      try {
        return await inTurn(paths, async (path) => {
          const stream = await manager.request('GET', path, {}, { endStream: true })
          return new Promise((resolve, reject) => {
            let status = 0
            let text = ''
            stream.on('response', (headers) => {
              status = Number(headers[':status'])
            })
            stream.setEncoding('utf8')
            stream.on('data', (chunk: string) => {
              manager.notifyResponseByteRead(stream)
              text += chunk
            })
            stream.on('end', () => resolve({ status, text }))
            stream.on('error', reject)
          })
        })
      } finally {
        manager.abort()
      }
    },
  },
  {
    name: 'built-in fetch',
    losesRetired: true,
    transports: ['TLS'],
    ask: (origin, ca, paths) => fetchAll(true, origin, ca, paths),
  },
  go,
  curl,
]

/** Node's own fetch as it is up to Node 24. */
export const fetchByHttp1: FaultClient['ask'] = (origin, ca, paths) => fetchAll(false, origin, ca, paths)
