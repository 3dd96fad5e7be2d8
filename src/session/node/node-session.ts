/**
 * Engine 'node': a session over node:http2.
 *
 * @module
 */

import type { Socket } from 'node:net'
import type { IncomingHttpHeaders } from '../../../types/headers.ts'
import type { OpenReason } from '../../../types/stats.ts'
import type { Call } from '../../handler/call.ts'
import type { PingLedger } from '../../protocol/ping-ledger.ts'
import { Http2Session } from '../http2-session.ts'
import type { SessionContext } from '../session.ts'
import { NodeConnection } from './node-connection.ts'
import { NodeStream } from './node-stream.ts'
import type { NodeStreamOwner } from './node-stream-owner.ts'
import { UploadBuffer } from './node-upload.ts'

/** One connection of node:http2. */
export class NodeSession
  extends Http2Session<NodeStream, NodeConnection>
  implements NodeStreamOwner<NodeStream>
{
  readonly uploadBuffer: UploadBuffer
  /** The connection's; null before there is one. */
  #pings: PingLedger | null = null

  constructor(context: SessionContext, id: number, openedFor: OpenReason) {
    super(context, id, openedFor)
    this.uploadBuffer = new UploadBuffer(this.report)
  }

  onData(received: number): void {
    this.#pings?.onNews()
    if (received > this.streamWindow) this.growWindow(Number.POSITIVE_INFINITY)
  }

  onTrailers(): void {
    this.#pings?.onNews()
  }

  override onResponded(headers: IncomingHttpHeaders): void {
    this.#pings?.onNews()
    super.onResponded(headers)
  }

  protected connect(socket: Socket, streamWindow: number): NodeConnection {
    const { origin, options } = this.context
    const connection = new NodeConnection(origin, options.session, socket, streamWindow, this)
    this.#pings = connection.pings
    return connection
  }

  protected toStream(call: Call): NodeStream {
    return new NodeStream(this, call)
  }
}
