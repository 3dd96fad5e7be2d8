/**
 * Engine 'node': HTTP/2 through node:http2.
 *
 * @module
 */

import type { Engine } from '../engine.ts'
import { NodeConnection } from './node-connection.ts'

/** Connections of node:http2. */
export const nodeEngine: Engine = {
  connect: (context, socket, windows, owner) => new NodeConnection(context, socket, windows, owner),
}
