/**
 * Engine 'wire': a session over a socket, framed by `protocol/`.
 *
 * @module
 */

import type { Socket } from 'node:net'
import type { Call } from '../../handler/call.ts'
import { Http2Session } from '../http2-session.ts'
import type { WireListener } from './wire-connection.ts'
import { WireConnection } from './wire-connection.ts'
import type { WireStreamOwner } from './wire-stream.ts'
import { WireStream } from './wire-stream.ts'

/** One connection, framed by ourselves. */
export class WireSession
  extends Http2Session<WireStream, WireConnection>
  implements WireStreamOwner, WireListener
{
  now(): number {
    return this.context.deadlines.now()
  }

  onBandwidth(bytes: number): void {
    this.growWindow(bytes)
  }

  onStall(streamId: number, sessionWindow: number): void {
    this.report.stall(streamId, sessionWindow)
  }

  protected connect(socket: Socket, streamWindow: number): WireConnection {
    return new WireConnection(this.context.options.session, socket, streamWindow, this)
  }

  protected toStream(call: Call): WireStream {
    return new WireStream(this, call)
  }
}
