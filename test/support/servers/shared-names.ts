/** One HTTP/2 server for several names, with one certificate, and a look-up that knows them. */

import { once } from 'node:events'
import type { Http2SecureServer, ServerHttp2Session, ServerHttp2Stream } from 'node:http2'
import http2 from 'node:http2'
import type { LookupFunction, Socket } from 'node:net'
import type { SecureContext, TLSSocket } from 'node:tls'
import { createSecureContext } from 'node:tls'
import { generate } from 'selfsigned'
import { onTestFinished } from 'vitest'
import { listenOnFree } from './free-port.ts'

/** A certificate that is its own authority. */
export interface NamesCertificate {
  readonly key: string
  readonly cert: string
}

/** A subject for each: OpenSSL finds the issuer of a certificate by its name. */
let made = 0

/** @param names of DNS, wildcards too; IP addresses of version 4 */
export async function toNamesCertificate(
  names: readonly string[],
  days: { readonly from?: Date; readonly to?: Date } = {},
): Promise<NamesCertificate> {
  const altNames = names.map((name) =>
    /^[\d.]+$/.test(name) ? { type: 7 as const, ip: name } : { type: 2 as const, value: name },
  )
  const { private: key, cert } = await generate([{ name: 'commonName', value: `shared-${made++}.test` }], {
    keyType: 'ec',
    ...(days.from === undefined ? {} : { notBeforeDate: days.from }),
    ...(days.to === undefined ? {} : { notAfterDate: days.to }),
    extensions: [{ name: 'subjectAltName', altNames }],
  })
  return { key, cert }
}

/** A request, and the connection that it has come by: they are numbered from 0. */
export interface SeenRequest {
  readonly connection: number
  readonly authority: string
  readonly path: string
}

export interface NamesServer {
  readonly server: Http2SecureServer
  readonly port: number
  readonly ca: string
  /** With `hasOneEach`, in the order of the names: whom clients have to trust. */
  readonly cas: string[]
  /** Every session so far, closed ones too. */
  readonly sessions: ServerHttp2Session[]
  /** The socket of each. */
  readonly sockets: TLSSocket[]
  readonly seen: SeenRequest[]
  /** Streams under `/held`, or for a host `held.…`, which get no response by themselves. */
  readonly held: ServerHttp2Stream[]
  /** Names for which the server responds with 421. */
  readonly misdirected: Set<string>
  /** Names for which the handshake stops at the server name. */
  readonly stalled: Set<string>
  /** Lets those handshakes go on, and stalls no more. */
  resume(): void
  toOrigin(name: string): string
}

export interface NamesOptions {
  readonly names: readonly string[]
  readonly certificate?: NamesCertificate
  /** Whether each name has a certificate for it alone. */
  readonly hasOneEach?: boolean
  /** Names in the ORIGIN frame that each session begins with; null for no frame. */
  readonly origins?: readonly string[] | null
  readonly host?: string
  readonly port?: number
  readonly settings?: http2.Settings
  readonly allowHTTP1?: boolean
  /** See {@link NamesServer.stalled}. */
  readonly stalled?: readonly string[]
}

/** Starts a server that responds with the request's authority, and that ends with the test. */
export async function startNames(options: NamesOptions): Promise<NamesServer> {
  const { names, origins = null, host = '127.0.0.1', port: asked = 0, settings = {} } = options
  const certificate = options.certificate ?? (await toNamesCertificate(names))
  const { key, cert } = certificate
  const { allowHTTP1 = false } = options
  const contexts = new Map<string, SecureContext>()
  const cas: string[] = []
  for (const name of options.hasOneEach === true ? names : []) {
    const one = await toNamesCertificate([name])
    cas.push(one.cert)
    contexts.set(name, createSecureContext(one))
  }
  const stalled = new Set(options.stalled)
  const waiting: (() => void)[] = []
  const server = http2.createSecureServer({
    ...{ key, cert, settings, allowHTTP1 },
    SNICallback: (name, callback) => {
      const goOn = (): void => callback(null, contexts.get(name))
      if (stalled.has(name)) waiting.push(goOn)
      else goOn()
    },
  })
  const raw = new Set<Socket>()
  server.on('connection', (socket: Socket) => raw.add(socket))
  const sessions: ServerHttp2Session[] = []
  const seen: SeenRequest[] = []
  const held: ServerHttp2Stream[] = []
  const misdirected = new Set<string>()
  const sockets: TLSSocket[] = []
  server.on('secureConnection', (socket: TLSSocket) => sockets.push(socket))
  server.on('sessionError', ignore)
  if (asked !== 0) await once(server.listen(asked, host), 'listening')
  const port = asked === 0 ? await listenOnFree(server, host) : asked
  const toOrigin = (name: string): string => `https://${name}:${port}`
  server.on('session', (session) => {
    sessions.push(session)
    session.on('error', ignore)
    if (origins !== null) session.origin(...origins.map(toOrigin))
  })
  server.on('stream', (stream: ServerHttp2Stream, headers) => {
    stream.on('error', ignore)
    const authority = String(headers[':authority'])
    const path = String(headers[':path'])
    const connection = sessions.indexOf(stream.session as ServerHttp2Session)
    seen.push({ connection, authority, path })
    if (path.startsWith('/held') || authority.startsWith('held.')) {
      held.push(stream)
      return
    }
    stream.respond({ ':status': misdirected.has(authority.split(':')[0] ?? '') ? 421 : 200 })
    stream.end(authority)
  })
  onTestFinished(async () => {
    for (const session of sessions) session.destroy()
    for (const socket of [...sockets, ...raw]) socket.destroy()
    if (!server.listening) return
    const closed = once(server, 'close')
    server.close()
    await closed
  })
  const resume = (): void => {
    stalled.clear()
    for (const goOn of waiting.splice(0)) goOn()
  }
  const facts = { server, port, ca: cert, cas, sessions, sockets, seen, held }
  return { ...facts, misdirected, stalled, resume, toOrigin }
}

/** A look-up that gives these addresses, those of `*` for any other name; it notes the names. */
export function toNamesLookup(
  hosts: Readonly<Record<string, readonly string[]>>,
): LookupFunction & { readonly asked: string[] } {
  const asked: string[] = []
  const lookup: LookupFunction = (hostname, options, callback) => {
    asked.push(hostname)
    const found = hosts[hostname] ?? hosts['*'] ?? []
    const list = found.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))
    const [first] = list
    const error = Object.assign(new Error(`getaddrinfo ENOTFOUND ${hostname}`), { code: 'ENOTFOUND' })
    if (first === undefined) process.nextTick(callback, error, '')
    else if (options.all === true) process.nextTick(callback, null, list)
    else process.nextTick(callback, null, first.address, first.family)
  }
  return Object.assign(lookup, { asked })
}

function ignore(): void {}
