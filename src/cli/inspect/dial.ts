/**
 * Connects to a server step by step, and notes what each step has found and how long it took.
 *
 * @module
 */

import { lookup } from 'node:dns/promises'
import type { LookupFunction, Socket } from 'node:net'
import { connect as connectSocket, isIP } from 'node:net'
import type { SecureContext, TLSSocket } from 'node:tls'
import { connect as connectTls } from 'node:tls'
import { EXIT } from '../cli-error.ts'
import type { TrustOptions } from '../request-options.ts'
import type { CertificateFacts } from './certificate-facts.ts'
import { toCertificateFacts } from './certificate-facts.ts'
import { ConnectFailure } from './failure.ts'

/** Where to connect. */
export interface DialTarget {
  /** Without brackets. */
  readonly hostname: string
  readonly port: number
  readonly isTls: boolean
  /** Used instead of those in DNS; null to ask DNS. */
  readonly addresses: readonly string[] | null
  /** A path instead of an address; null for none. */
  readonly unixSocket: string | null
  readonly trust: TrustOptions
  /** Created from `trust`, before the connection: reading a system's certificates takes longer than a handshake. */
  readonly secureContext: SecureContext | undefined
}

/**
 * Opens the socket below TLS.
 *
 * @throws ConnectFailure
 */
export type OpenSocket = (
  target: DialTarget,
  facts: DialFacts,
  onStep: OnStep,
  signal: AbortSignal,
) => Promise<Socket>

/** What the steps have found. All durations are in milliseconds. Null: the step was omitted, or hasn't ended. */
export interface DialFacts {
  dns: { readonly name: string; readonly addresses: readonly string[]; readonly ms: number } | null
  tcp: { readonly address: string; readonly port: number; readonly ms: number } | null
  unix: { readonly path: string; readonly ms: number } | null
  /** The URL without credentials. The time is the tunnel's, including TLS to the server inside it. */
  proxy: { readonly url: string; readonly ms: number } | null
  tls: TlsFacts | null
  /** Null without TLS, too. */
  certificate: CertificateFacts | null
}

export interface TlsFacts {
  /** `TLSv1.3`. */
  readonly version: string
  readonly cipher: string
  /** Null if the server chose none. */
  readonly alpn: string | null
  /** Null within a tunnel: see `proxy`. */
  readonly ms: number | null
}

/** Called when each step has ended. */
export type OnStep = (step: 'dns' | 'tcp' | 'unix' | 'proxy' | 'tls') => void

/** HTTP/1.1 is offered, too, so that a server without HTTP/2 says what it speaks. It isn't used. */
export const ALPN_PROTOCOLS = ['h2', 'http/1.1']

export function toNoFacts(): DialFacts {
  return { dns: null, tcp: null, unix: null, proxy: null, tls: null, certificate: null }
}

/**
 * Connects directly.
 *
 * @param open see {@link openSocket}
 * @param signal ends it
 * @throws ConnectFailure
 */
export async function dial(
  target: DialTarget,
  open: OpenSocket,
  facts: DialFacts,
  onStep: OnStep,
  signal: AbortSignal,
): Promise<Socket> {
  const socket = await open(target, facts, onStep, signal)
  return target.isTls ? secure(target, socket, facts, onStep, signal) : socket
}

/**
 * Over TCP, or over the Unix socket at a path.
 *
 * @throws ConnectFailure
 */
export async function openSocket(
  target: DialTarget,
  facts: DialFacts,
  onStep: OnStep,
  signal: AbortSignal,
): Promise<Socket> {
  if (target.unixSocket !== null) return connectUnix(target.unixSocket, facts, onStep, signal)
  const addresses = await resolve(target, facts, onStep)
  signal.throwIfAborted()
  return connect(target, addresses, facts, onStep, signal)
}

async function connectUnix(
  path: string,
  facts: DialFacts,
  onStep: OnStep,
  signal: AbortSignal,
): Promise<Socket> {
  const start = performance.now()
  const socket = connectSocket({ path })
  try {
    await settle(socket, 'connect', signal)
  } catch (error) {
    signal.throwIfAborted()
    throw new ConnectFailure(`No connection to ${path}: ${toReason(error)}`, EXIT.connect, toCode(error))
  }
  facts.unix = { path, ms: performance.now() - start }
  onStep('unix')
  return socket
}

async function resolve(target: DialTarget, facts: DialFacts, onStep: OnStep): Promise<readonly string[]> {
  const { hostname } = target
  if (target.addresses !== null) return target.addresses
  if (isIP(hostname) !== 0) return [hostname]
  const start = performance.now()
  try {
    const found = await lookup(hostname, { all: true })
    const addresses = found.map(({ address }) => address)
    facts.dns = { name: hostname, addresses, ms: performance.now() - start }
  } catch (error) {
    const code = toCode(error)
    const reason = code === 'EAI_AGAIN' ? 'the name server does not respond' : `it has no address (${code})`
    throw new ConnectFailure(`${hostname} can't be resolved: ${reason}`, EXIT.dns, code)
  }
  onStep('dns')
  return facts.dns.addresses
}

async function connect(
  { hostname, port }: DialTarget,
  addresses: readonly string[],
  facts: DialFacts,
  onStep: OnStep,
  signal: AbortSignal,
): Promise<Socket> {
  const start = performance.now()
  const options = { host: hostname, port, autoSelectFamily: true, noDelay: true, lookup: toLookup(addresses) }
  // An address needs no lookup, and Node makes none, so what --resolve says counts here instead.
  const [only = hostname] = addresses
  const socket = connectSocket(addresses.length === 1 ? { ...options, host: only } : options)
  try {
    await settle(socket, 'connect', signal)
  } catch (error) {
    signal.throwIfAborted()
    const where = `${addresses.join(', ')} port ${port}`
    throw new ConnectFailure(`No connection to ${where}: ${toReason(error)}`, EXIT.connect, toCode(error))
  }
  const ms = performance.now() - start
  facts.tcp = { address: socket.remoteAddress ?? only, port, ms }
  onStep('tcp')
  return socket
}

/** Node asks for one address, or for all. */
function toLookup(addresses: readonly string[]): LookupFunction {
  const all = addresses.map((address) => ({ address, family: isIP(address) }))
  return (_hostname, options, callback) => {
    const [first] = all
    process.nextTick(() => {
      if (options.all) callback(null, all)
      else callback(null, first?.address ?? '', first?.family)
    })
  }
}

async function secure(
  { hostname, port, secureContext, trust }: DialTarget,
  socket: Socket,
  facts: DialFacts,
  onStep: OnStep,
  signal: AbortSignal,
): Promise<TLSSocket> {
  const start = performance.now()
  const secured = connectTls({
    secureContext,
    // The certificate is checked afterwards, so that it can be shown first.
    rejectUnauthorized: false,
    socket,
    host: hostname,
    ...(isIP(hostname) === 0 ? { servername: hostname } : {}),
    ALPNProtocols: ALPN_PROTOCOLS,
  })
  try {
    await settle(secured, 'secureConnect', signal)
  } catch (error) {
    signal.throwIfAborted()
    throw toTlsFailure(error, `${hostname}:${port}`)
  }
  noteTls(secured, hostname, facts, performance.now() - start)
  onStep('tls')
  checkTls(facts, trust, secured)
  return secured
}

function toTlsFailure(error: unknown, where: string): ConnectFailure {
  const code = toCode(error)
  // RFC 7301 §3.2. OpenSSL's name for the alert.
  if (code?.includes('NO_APPLICATION_PROTOCOL')) {
    const message = `${where} speaks neither HTTP/2 nor HTTP/1.1: it refused both in ALPN`
    return new ConnectFailure(message, EXIT.protocol, code)
  }
  const isPlain = code === 'ERR_SSL_WRONG_VERSION_NUMBER' || code === 'ERR_SSL_PACKET_LENGTH_TOO_LONG'
  const reason = isPlain ? "the server doesn't answer with TLS" : toReason(error)
  const hint = isPlain ? 'Try the URL with http:, for HTTP/2 without TLS' : null
  return new ConnectFailure(`The TLS handshake with ${where} failed: ${reason}`, EXIT.tls, code, hint)
}

/**
 * @param ms the handshake's duration; null within a tunnel
 * @throws ConnectFailure if the certificate can't be read; then the connection is ended
 */
export function noteTls(socket: TLSSocket, hostname: string, facts: DialFacts, ms: number | null): void {
  try {
    facts.certificate = toCertificateFacts(socket, hostname, Date.now())
  } catch (error) {
    // An invalid date, for example. Node and OpenSSL accept such a certificate so far.
    socket.on('error', () => {}).destroy()
    throw new ConnectFailure(`The certificate can't be read: ${toReason(error)}`, EXIT.tls)
  }
  facts.tls = {
    version: socket.getProtocol() ?? 'unknown',
    cipher: socket.getCipher().standardName,
    alpn: socket.alpnProtocol === false ? null : (socket.alpnProtocol ?? null),
    ms,
  }
}

/**
 * Ends the connection unless the certificate is trusted and HTTP/2 was chosen.
 *
 * @throws ConnectFailure
 */
export function checkTls({ certificate, tls }: DialFacts, trust: TrustOptions, socket: TLSSocket): void {
  const isAccepted = trust.rejectUnauthorized === false || certificate?.isTrusted === true
  if (isAccepted && tls?.alpn === 'h2') return
  socket.on('error', () => {}).destroy()
  if (!isAccepted) {
    const reasons = certificate?.reasons.join('; ') ?? 'the server sent none'
    const hint = '--ca FILE trusts another authority, --insecure accepts any certificate'
    const code = certificate?.code ?? null
    throw new ConnectFailure(`The certificate isn't trusted: ${reasons}`, EXIT.tls, code, hint)
  }
  const choice = tls?.alpn === null ? 'chose no protocol in ALPN' : `chose ${tls?.alpn} in ALPN`
  const message = `The server doesn't speak HTTP/2: it ${choice}, not h2`
  throw new ConnectFailure(
    message,
    EXIT.protocol,
    'DODICI_ERR_ALPN',
    "'curl --http1.1 URL' shows its response",
  )
}

/** Settles at the event, or at the socket's end. */
export function settle(
  socket: Socket,
  event: 'connect' | 'secureConnect',
  signal: AbortSignal,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => void socket.destroy()
    const finish = (error: unknown): void => {
      signal.removeEventListener('abort', onAbort)
      if (error === null) resolve()
      else reject(error)
    }
    socket.once(event, () => finish(null))
    // It stays, so that no error of a failed socket is ever unhandled.
    socket.on('error', finish)
    socket.once('close', () => finish(new Error('the server closed the connection')))
    signal.addEventListener('abort', onAbort, { once: true })
  })
}

function toCode(error: unknown): string | null {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : null
}

/** If all addresses fail, Node's error contains one for each, and no message. */
function toReason(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(toReason).join('; ')
  return error instanceof Error ? error.message : String(error)
}
