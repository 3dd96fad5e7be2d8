/**
 * Engine 'wire': HTTP/2 of our own framing, by `protocol/`.
 *
 * @module
 */

import type { Engine } from '../engine.ts'
import { WireConnection } from './wire-connection.ts'

/** Connections that are framed by ourselves. */
export const wireEngine: Engine = {
  connect: (context, socket, streamWindow, owner) => new WireConnection(context, socket, streamWindow, owner),
}
