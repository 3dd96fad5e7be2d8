/** Clients that others wrote, for the fault server: each sends some requests, one after the other. */

import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import type { ClientHttp2Stream } from 'node:http2'
import { connect } from 'node:http2'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { createNodeHttpClient, Http2SessionManager } from '@connectrpc/connect-node'
import axios from 'axios'
import got from 'got'
import { PROGRAM_ENV } from '../../scripts/program-env.mjs'
import { buildGo, lacks, requireProgram } from '../support/servers/programs.ts'

const run = promisify(execFile)
const MAJOR = Number(process.versions.node.split('.')[0])

/** What a client has of a response. `error`: it failed, whenever that was. */
export interface Answer {
  readonly status: number
  readonly text: string
  readonly error: string
  /** Milliseconds. */
  readonly elapsed: number
}

export interface FaultClient {
  readonly name: string
  /** What it speaks HTTP/2 over. */
  readonly transports: readonly ('h2c' | 'TLS')[]
  /** Missing programs leave it out, outside of CI. */
  readonly isLacking?: boolean
  /** A GOAWAY with NO_ERROR fails the requests that wait for their responses, against RFC 9113 §6.8. */
  readonly losesRetired?: boolean
  /** Sends each request in turn, with one pool of connections. */
  ask(order: Order): Promise<Answer[]>
}

/** What a client is to send. */
export interface Order {
  readonly origin: string
  /** Null: without TLS. */
  readonly ca: string | null
  /** Such as `GET /a`; a POST has the body `body`. */
  readonly requests: readonly string[]
  /**
   * How long a response may take, and how long its body may stand still, where the client can tell. Where it sends PINGs:
   * a quarter of it is the interval, and a quarter the time for an ACK. Milliseconds.
   */
  readonly limit: number
  /** Before each request but the first. Milliseconds; 0: in the turn of the event loop in which the last one has ended. */
  readonly pause: number
}

/** One request of an order. */
export interface Wanted {
  readonly method: string
  readonly path: string
  readonly url: string
  /** Null: none. */
  readonly body: string | null
}

/** Of a request that has not failed. */
export type WholeResponse = Pick<Answer, 'status' | 'text'>

const BOTH = ['h2c', 'TLS'] as const

/** Sends the requests of an order, one after the other. */
export async function inTurn(
  { origin, requests, pause }: Order,
  ask: (wanted: Wanted) => Promise<WholeResponse>,
): Promise<Answer[]> {
  const answers: Answer[] = []
  for (const request of requests) {
    const [method = '', path = ''] = request.split(' ')
    const wanted = { method, path, url: `${origin}${path}`, body: method === 'POST' ? 'body' : null }
    if (pause > 0 && answers.length > 0) await delay(pause)
    const begun = performance.now()
    const answer = await ask(wanted).then(
      (response) => ({ ...response, error: '' }),
      (error: Error) => ({ status: 0, text: '', error: String(error) }),
    )
    answers.push({ ...answer, elapsed: performance.now() - begun })
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

async function fetchAll(allowH2: boolean, order: Order): Promise<Answer[]> {
  const { ca, limit } = order
  const connect = { timeout: limit, ...(ca === null ? {} : { ca }) }
  const agent = new builtinUndici.Agent({ allowH2, connect, headersTimeout: limit, bodyTimeout: limit })
  try {
    return await inTurn(order, async ({ url, method, body }) => {
      const response = await fetch(url, { method, body, dispatcher: agent } as RequestInit)
      return { status: response.status, text: await response.text() }
    })
  } finally {
    await agent.destroy()
  }
}

async function* toPieces(text: string): AsyncIterable<Uint8Array> {
  yield Buffer.from(text)
}

async function toText(pieces: AsyncIterable<Uint8Array>): Promise<string> {
  let text = ''
  for await (const piece of pieces) text += Buffer.from(piece).toString()
  return text
}

/** A stream of node:http2 → its response. */
function readStream(stream: ClientHttp2Stream, limit: number): Promise<WholeResponse> {
  return new Promise((resolve, reject) => {
    let status = 0
    let text = ''
    stream.on('response', (headers) => {
      status = Number(headers[':status'])
    })
    stream.setEncoding('utf8')
    stream.on('data', (chunk: string) => {
      text += chunk
    })
    stream.setTimeout(limit, () => stream.destroy(new Error('the limit of time')))
    stream.on('error', reject)
    stream.on('aborted', () => reject(new Error('aborted')))
    // An 'end' comes as well where the stream was reset: the code tells.
    stream.on('close', () => {
      if (stream.readableEnded && status !== 0 && stream.rstCode === 0) resolve({ status, text })
      else reject(new Error(`closed with code ${stream.rstCode}`))
    })
  })
}

const curl: FaultClient = {
  name: 'curl',
  transports: BOTH,
  isLacking: lacks('curl'),
  ask: (order) =>
    withFolder(order.ca, async (folder, file) => {
      requireProgram('curl')
      const common = ['--silent', '--show-error', '--noproxy', '*', '--max-time', `${order.limit / 1_000}`]
      const http2 = order.ca === null ? ['--http2-prior-knowledge'] : ['--http2', '--cacert', file]
      return inTurn(order, async ({ url, method, body }) => {
        const sent = body === null ? ['--request', method] : ['--data', body]
        const args = [...common, ...http2, ...sent, '--write-out', '\n%{http_code}', url]
        const { stdout } = await run('curl', args, { env: PROGRAM_ENV, cwd: folder })
        const [status = '', ...lines] = stdout.split('\n').reverse()
        return { status: Number(status), text: lines.reverse().join('\n') }
      })
    }),
}

/** Compiled once in a process. */
let binary: Promise<string> | null = null

async function buildClient(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'dodici-faults-'))
  process.once('exit', () => rmSync(folder, { recursive: true }))
  const file = join(folder, 'client')
  await buildGo(file, { file: fileURLToPath(new URL('./children/fault-client.go', import.meta.url)) })
  return file
}

const go: FaultClient = {
  name: "Go's net/http",
  // Without TLS it speaks HTTP/2 from Go 1.24 on.
  transports: ['TLS'],
  isLacking: lacks('go'),
  ask: ({ origin, ca, requests, limit, pause }) =>
    withFolder(ca, async (_folder, file) => {
      binary ??= buildClient()
      const { stdout } = await run(await binary, [file, origin, `${limit}`, `${pause}`, ...requests])
      return JSON.parse(stdout)
    }),
}

export const CLIENTS: readonly FaultClient[] = [
  {
    name: 'undici',
    losesRetired: true,
    transports: MAJOR >= 22 ? BOTH : ['TLS'],
    async ask(order) {
      const { ca, limit } = order
      const connect = { timeout: limit, ...(ca === null ? {} : { ca }) }
      const h2c = ca === null ? { useH2c: true } : {}
      const agent = new undici.Agent({
        allowH2: true,
        connect,
        headersTimeout: limit,
        bodyTimeout: limit,
        ...(MAJOR >= 22 ? { h2Options: { pingInterval: limit / 4 } } : {}),
        ...h2c,
      })
      try {
        return await inTurn(order, async ({ url, method, body }) => {
          const response = await undici.request(url, { method, body, dispatcher: agent })
          return { status: response.statusCode, text: await response.body.text() }
        })
      } finally {
        await agent.destroy()
      }
    },
  },
  {
    name: 'node:http2',
    transports: BOTH,
    ask: (order) =>
      inTurn(order, async ({ path, method, body }) => {
        const session = connect(order.origin, order.ca === null ? {} : { ca: order.ca })
        try {
          const failed = once(session, 'error').then(([error]) => Promise.reject(error))
          const stream = session.request({ ':path': path, ':method': method })
          stream.end(body ?? undefined)
          return await Promise.race([readStream(stream, order.limit), failed])
        } finally {
          session.destroy()
        }
      }),
  },
  {
    name: 'got',
    transports: ['TLS'],
    ask: (order) =>
      inTurn(order, async ({ url, method, body }) => {
        const https = order.ca === null ? {} : { certificateAuthority: order.ca }
        const { limit } = order
        const timeout = { connect: limit, secureConnect: limit, response: limit, read: limit }
        const sent = body === null ? {} : { body }
        const response = await got(url, {
          method: method as 'GET',
          ...sent,
          http2: true,
          https,
          timeout,
        })
        return { status: response.statusCode, text: response.body }
      }),
  },
  {
    name: 'axios',
    transports: BOTH,
    ask: (order) => {
      const instance = axios.create({
        httpVersion: 2,
        http2Options: order.ca === null ? {} : { ca: order.ca },
        proxy: false,
        responseType: 'text',
        timeout: order.limit,
      })
      return inTurn(order, async ({ url, method, body }) => {
        const { status, data } = await instance.request({ url, method, data: body ?? undefined })
        return { status, text: data }
      })
    },
  },
  {
    name: 'connect-node',
    transports: BOTH,
    async ask(order) {
      const quarter = order.limit / 4
      const pings = { pingIntervalMs: quarter, pingTimeoutMs: quarter }
      const manager = new Http2SessionManager(order.origin, pings, order.ca === null ? {} : { ca: order.ca })
      // What its transports are made of.
      const client = createNodeHttpClient({ httpVersion: '2', sessionProvider: () => manager })
      try {
        return await inTurn(order, async ({ url, method, body }) => {
          const signal = AbortSignal.timeout(order.limit)
          const content = body === null ? {} : { body: toPieces(body) }
          const response = await client({ url, method, header: new Headers(), signal, ...content })
          return { status: response.status, text: await toText(response.body) }
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
    ask: (order) => fetchAll(true, order),
  },
  go,
  curl,
]

/** Node's own fetch as it is up to Node 24. */
export const fetchByHttp1: FaultClient['ask'] = (order) => fetchAll(false, order)
