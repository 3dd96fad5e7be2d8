/**
 * Engine 'wire': Dodici's own HTTP/2 framing, in `protocol/`.
 *
 * @module
 */

import type { Engine } from '../engine.ts'
import { WireConnection } from './wire-connection.ts'

/** Connections with Dodici's own framing. */
export const wireEngine: Engine = {
  connect: (context, socket, windows, owner) => new WireConnection(context, socket, windows, owner),
}
