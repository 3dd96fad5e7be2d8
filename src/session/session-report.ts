/**
 * Publishes one session's life on the channels `dodici:session:*` and on undici's connection channels, and logs it.
 *
 * @module
 */

import type { Socket } from 'node:net'
import type { SessionFacts } from '../../types/channels.ts'
import type { EndReason, OpenReason, SessionStats } from '../../types/stats.ts'
import type { Call } from '../call/call.ts'
import { isTlsSocket } from '../core/builtin.ts'
import { frameLog, sessionLog, toLogged } from '../core/debug-log.ts'
import { clientChannels, sessionChannels } from '../core/diagnostics.ts'
import { toErrorCodeName } from '../errors/error-codes.ts'
import { AlpnError } from '../errors/errors.ts'
import type { WireHeaders } from '../request/wire-headers.ts'
import type { EngineConnection } from './engine.ts'
import type { Goaway } from './loss.ts'
import type { AnnouncedSettings } from './peer-settings.ts'
import { UNLIMITED } from './peer-settings.ts'
import type { Session, SessionContext } from './session.ts'
import type { SessionStreams } from './stream/session-streams.ts'
import type { Transport } from './transport.ts'

/** undici's description of a connection's target. */
interface ConnectParams {
  readonly host: string
  readonly hostname: string
  readonly protocol: string
  readonly port: string
  readonly version: 'h2'
  readonly servername: string | null
  readonly localAddress: string | null
}

/** Publishes each step of a session's life on the channels that have subscribers. */
export class SessionReport {
  /** The same object in every message. */
  readonly session: SessionFacts
  readonly #context: SessionContext
  /** The round trip of the last PING, in milliseconds; null before the first one. */
  #rtt: number | null = null

  constructor(context: SessionContext, id: number, openedFor: OpenReason) {
    this.#context = context
    const { href, scheme } = context.origin
    this.session = Object.freeze({ id, origin: href, openedFor, protocol: scheme === 'https' ? 'h2' : 'h2c' })
  }

  open(): void {
    if (sessionChannels.open.hasSubscribers) sessionChannels.open.publish({ session: this.session })
    if (clientChannels.beforeConnect.hasSubscribers) {
      clientChannels.beforeConnect.publish(this.#toConnectMessage())
    }
    this.#log(`connecting, ${this.session.openedFor}`)
  }

  /** @param waited milliseconds since the connection attempt began */
  ready({ engine, socket }: EngineConnection, waited: number): void {
    if (sessionChannels.ready.hasSubscribers) sessionChannels.ready.publish({ session: this.session, socket })
    if (clientChannels.connected.hasSubscribers) {
      clientChannels.connected.publish({ ...this.#toConnectMessage(), socket })
    }
    if (sessionLog !== null) this.#log(`ready after ${Math.round(waited)} ms, ${toSocketText(socket)}`)
    if (frameLog !== null && engine === 'node')
      frameLog(`${this.#name}: engine node shows no frames: engine wire does, and Node by NODE_DEBUG=http2`)
  }

  draining(goaway: Goaway | null, reason: EndReason | null): void {
    if (sessionChannels.draining.hasSubscribers) {
      sessionChannels.draining.publish({ session: this.session, goaway, reason })
    }
    if (sessionLog !== null) this.#log(`draining, ${reason ?? 'closed'}`)
  }

  /** @param wasReady false if the session ended before it was ready */
  closed(cause: Error | null, wasReady: boolean, reason: EndReason): void {
    if (sessionChannels.closed.hasSubscribers)
      sessionChannels.closed.publish({ session: this.session, cause, reason })
    if (sessionLog !== null) this.#log(`ended, ${reason}${cause === null ? '' : `: ${toLogged(cause)}`}`)
    // A session that has found HTTP/1.1, for the fallback, has not failed.
    if (cause instanceof AlpnError && cause.alpnProtocol !== null && this.#context.options.fallback !== null)
      return
    if (!wasReady && cause !== null && clientChannels.connectError.hasSubscribers) {
      clientChannels.connectError.publish({ ...this.#toConnectMessage(), error: cause })
    }
  }

  /** The peer's SETTINGS have arrived, or have changed. */
  settings({ maxConcurrentStreams, enableConnectProtocol, maxHeaderListSize }: AnnouncedSettings): void {
    if (!sessionChannels.settings.hasSubscribers && sessionLog === null) return
    const settings = { maxConcurrentStreams, enableConnectProtocol, maxHeaderListSize }
    if (sessionChannels.settings.hasSubscribers)
      sessionChannels.settings.publish({ session: this.session, settings })
    if (sessionLog === null) return
    const values = Object.entries(settings).filter(([, value]) => value !== undefined && value !== UNLIMITED)
    this.#log(['SETTINGS', ...values.map(([name, value]) => `${name}=${value}`)].join(' '))
  }

  /** GOAWAY has arrived. */
  goaway({ code, lastStreamId, debugData }: Goaway): void {
    if (sessionLog === null) return
    const text =
      debugData === null ? '' : `, ${JSON.stringify(debugData.toString('latin1', 0, MAX_DEBUG_DATA))}`
    this.#log(`GOAWAY ${toErrorCodeName(code)}, last stream ${lastStreamId}${text}`)
  }

  /** No sign of life has arrived in time. */
  late(): void {
    if (sessionChannels.late.hasSubscribers) sessionChannels.late.publish({ session: this.session })
    this.#log('silent: calls wait for the ACK of a PING')
  }

  /** The ACK of a PING has arrived. @param rtt in milliseconds */
  ping(rtt: number): void {
    this.#rtt = rtt
    if (sessionChannels.ping.hasSubscribers) sessionChannels.ping.publish({ session: this.session, rtt })
  }

  /** An upload is stalled. @param sessionWindow the connection's send window, in bytes */
  stall(streamId: number, sessionWindow: number): void {
    if (!sessionChannels.stall.hasSubscribers) return
    sessionChannels.stall.publish({ session: this.session, streamId, sessionWindow })
  }

  /** A snapshot of the session. @param connection null before there is one */
  toStats(
    session: Session,
    isVerifying: boolean,
    streams: SessionStreams,
    connection: EngineConnection | null,
  ): SessionStats {
    const { state } = session
    return {
      engine: connection?.engine ?? this.#context.options.engine,
      state: state.name === 'closed' ? 'draining' : isVerifying ? 'verifying' : state.name,
      openedFor: this.session.openedFor,
      endedFor: session.endedFor,
      origins: [this.session.origin],
      requests: session.requests,
      streams: streams.size,
      peerLimit: streams.settings.peerLimit,
      limit: streams.settings.limit,
      streamWindow: streams.windows.streamWindow,
      rtt: this.#rtt,
      bytesRead: connection?.bytesRead ?? 0,
      bytesWritten: connection?.socket.bytesWritten ?? 0,
    }
  }

  #log(what: string): void {
    sessionLog?.(`${this.#name}: ${what}`)
  }

  get #name(): string {
    return `session ${this.session.id} ${this.session.origin}`
  }

  #toConnectMessage(): { connectParams: ConnectParams; connector: unknown } {
    const { origin, options } = this.#context
    const { connect } = options
    const own = typeof connect === 'function' ? null : connect
    const connectParams: ConnectParams = {
      host: origin.authority,
      hostname: origin.hostname,
      protocol: `${origin.scheme}:`,
      port: origin.url.port,
      version: 'h2',
      servername: own?.servername ?? null,
      localAddress: own?.localAddress ?? null,
    }
    // The options are left out: a subscriber that logs its messages must not log a private key or its passphrase.
    return { connectParams, connector: own === null ? connect : null }
  }
}

/** How many bytes of a GOAWAY's debug data are logged. */
const MAX_DEBUG_DATA = 200

/** What a socket is connected to, and how. A caller's Duplex has no addresses. */
function toSocketText(socket: Transport): string {
  const { remoteAddress, remotePort } = socket as Partial<Socket>
  const peer = remoteAddress === undefined ? 'a stream' : `${remoteAddress} port ${remotePort}`
  if (!isTlsSocket(socket)) return `to ${peer}, without TLS`
  const version = socket.getProtocol() ?? 'TLS'
  return `to ${peer}, ${version}, ALPN ${socket.alpnProtocol || 'none'}${socket.isSessionReused() ? ', resumed' : ''}`
}

/**
 * An attempt was sent. `headers` has the HTTP/1.1 form that undici's subscribers expect, including pseudo-header
 * fields. Credentials for a proxy are omitted.
 */
export function reportSent(call: Call, socket: Transport | null, wire: WireHeaders): void {
  const { trace: request } = call.request
  const { connection } = call
  if (request === null || connection === null) return
  request.sent(connection)
  if (!clientChannels.sendHeaders.hasSubscribers) return
  let headers = ''
  for (let i = 0; i < wire.length; i += 2)
    if (wire[i] !== 'proxy-authorization') headers += `${wire[i]}: ${wire[i + 1]}\r\n`
  clientChannels.sendHeaders.publish({ request, headers, socket })
}
