/**
 * Engine 'node': a session over node:http2.
 *
 * @module
 */

import type { Socket } from 'node:net'
import type { OpenReason } from '../../types/stats.ts'
import type { Call } from '../handler/call.ts'
import { BaseSession } from './base-session.ts'
import { NodeConnection } from './node-connection.ts'
import { NodeStream } from './node-stream.ts'
import type { NodeStreamOwner } from './node-stream-owner.ts'
import { UploadBuffer } from './node-upload.ts'
import type { SessionContext } from './session.ts'

/** One connection of node:http2. */
export class NodeSession
  extends BaseSession<NodeStream, NodeConnection>
  implements NodeStreamOwner<NodeStream>
{
  readonly uploadBuffer: UploadBuffer

  constructor(context: SessionContext, id: number, openedFor: OpenReason) {
    super(context, id, openedFor)
    this.uploadBuffer = new UploadBuffer(this.report)
  }

  onLargeAnswer(): void {
    this.growWindow(Number.POSITIVE_INFINITY)
  }

  protected connect(socket: Socket, streamWindow: number): NodeConnection {
    const { origin, options } = this.context
    return new NodeConnection(origin, options.session, socket, streamWindow, this)
  }

  protected toStream(call: Call): NodeStream {
    return new NodeStream(this, call)
  }
}
