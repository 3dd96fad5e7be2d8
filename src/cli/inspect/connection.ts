/**
 * A dispatcher whose only connection is observed.
 *
 * @module
 */

import type { Socket } from 'node:net'
import { createSecureContext, TLSSocket } from 'node:tls'
import type { Connector, ConnectorOptions } from '../../../types/client.ts'
import type { Client, ProxyAgent } from '../../index.ts'
import { permitNodeEngine } from '../../session/connect/socket.ts'
import { EXIT } from '../cli-error.ts'
import type { DialFacts, DialTarget, OnStep, OpenSocket } from './dial.ts'
import { ALPN_PROTOCOLS, checkTls, dial, noteTls, settle } from './dial.ts'
import { ConnectFailure } from './failure.ts'
import type { Plan } from './plan.ts'
import type { TapListener } from './wire-tap.ts'
import { WireTap } from './wire-tap.ts'

/** Where a connection's facts are reported. */
export interface ConnectionWatch {
  readonly facts: DialFacts
  readonly onStep: OnStep
  readonly tap: TapListener
  /** The client is loaded, and connects. */
  readonly onDial: () => void
  /** Settles when more frames may be shown; null: now. */
  readonly room: () => Promise<void> | null
  readonly open: OpenSocket
}

/**
 * With `-v`, a reader of the frames that stops holds up the connection: that doesn't mean that the server is silent.
 */
const NO_LIMITS = { pingInterval: 0, headersTimeout: 0, bodyTimeout: 0, uploadTimeout: 0 } as const

/**
 * Opens a socket.
 *
 * @throws ConnectFailure
 */
type Open = (asked: ConnectorOptions, signal: AbortSignal) => Promise<Socket>

/**
 * A dispatcher for the plan's origin. It connects at its first request, and only once, because one connection is
 * reported. It doesn't resend a request whose connection is lost, and has no fallback to HTTP/1.1.
 */
export async function toDispatcher(plan: Plan, watch: ConnectionWatch): Promise<Client | ProxyAgent> {
  const { Client, ProxyAgent } = await import('../../index.ts')
  const { engine, proxy, target, trust } = plan
  const limits = plan.isVerbose ? NO_LIMITS : {}
  const options = { engine, fallback: null, replaySafe: false, ...limits } as const
  if (proxy === null) {
    const to = toDialTarget(plan)
    const connect = toConnector(plan, watch, (_asked, signal) =>
      dial(to, watch.open, watch.facts, watch.onStep, signal),
    )
    return new Client(target.url.origin, { ...options, connect })
  }
  return new ProxyAgent({
    ...options,
    uri: proxy,
    h2c: true,
    proxyTls: trust,
    // As in `dial()`: the server's certificate is checked afterwards.
    requestTls: { ...trust, rejectUnauthorized: false },
    factory: (origin, { connect, ...inner }) => {
      // A ProxyAgent has created it: a function that opens tunnels.
      if (typeof connect !== 'function') throw new TypeError('the agent of a proxy has no connector')
      const open: Open = (asked, signal) => openTunnel(connect, plan, proxy, watch, asked, signal)
      return new Client(origin, { ...inner, connect: toConnector(plan, watch, open) })
    },
  })
}

function toDialTarget({ target: { url }, resolve, trust, unixSocket }: Plan): DialTarget {
  const isTls = url.protocol === 'https:'
  const port = url.port === '' ? (isTls ? 443 : 80) : Number(url.port)
  const hostname = url.hostname.replace(/^\[(.+)\]$/, '$1')
  return {
    hostname,
    port,
    isTls,
    addresses: resolve.get(`${url.hostname}:${port}`) ?? null,
    trust,
    unixSocket,
    secureContext: isTls ? createSecureContext(trust) : undefined,
  }
}

function toConnector({ engine }: Plan, { onDial, room, tap }: ConnectionWatch, open: Open): Connector {
  let isUsed = false
  return async (asked) => {
    if (isUsed) {
      throw new ConnectFailure(
        'The server ended the connection before it accepted the request',
        EXIT.protocol,
      )
    }
    isUsed = true
    onDial()
    const socket = await open(asked, asked.signal ?? new AbortController().signal)
    // The engines accept any Duplex as a socket, and what they may call besides its methods is optional.
    return permitNodeEngine(new WireTap(socket, tap, engine === 'node', room)) as unknown as Socket
  }
}

async function openTunnel(
  connect: Connector,
  { trust }: Plan,
  proxy: URL,
  { facts, onStep }: ConnectionWatch,
  asked: ConnectorOptions,
  signal: AbortSignal,
): Promise<Socket> {
  const start = performance.now()
  const socket = await ask(connect, { ...asked, ALPNProtocols: ALPN_PROTOCOLS })
  const isTls = socket instanceof TLSSocket
  if (isTls) await secure(socket, asked, signal)
  facts.proxy = { url: `${proxy.protocol}//${proxy.host}`, ms: performance.now() - start }
  onStep('proxy')
  if (isTls) {
    noteTls(socket, asked.hostname, facts, null)
    onStep('tls')
    checkTls(facts, trust, socket)
  }
  return socket
}

/** A ProxyAgent's connector uses a callback. */
function ask(connect: Connector, asked: ConnectorOptions): Promise<Socket> {
  return new Promise((resolve, reject) => {
    connect(asked, (error, socket) => {
      if (socket) resolve(socket)
      else reject(error ?? new Error('the connector has no socket'))
    })
  })
}

async function secure(socket: TLSSocket, { hostname }: ConnectorOptions, signal: AbortSignal): Promise<void> {
  try {
    await settle(socket, 'secureConnect', signal)
  } catch (error) {
    signal.throwIfAborted()
    const reason = error instanceof Error ? error.message : String(error)
    throw new ConnectFailure(`The TLS handshake with ${hostname} failed: ${reason}`, EXIT.tls)
  }
}
