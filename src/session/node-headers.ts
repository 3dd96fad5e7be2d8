/**
 * Header objects as node:http2 makes them, made ready to be handed on.
 *
 * @module
 */

import type { IncomingHttpHeaders as NodeHeaders } from 'node:http2'
import { sensitiveHeaders } from 'node:http2'
import type { IncomingHttpHeaders } from '../../types/headers.ts'
import { toRawHeaders } from '../core/headers.ts'

/** The very object that node made, less what is no header: nothing is copied. */
export function toHandedHeaders(headers: NodeHeaders): IncomingHttpHeaders {
  Reflect.deleteProperty(headers, ':status')
  Reflect.deleteProperty(headers, sensitiveHeaders)
  return headers
}

/** The flat list in wire order: node passes it as a third argument that its types leave out. */
export function toRawList(raw: unknown, handed: IncomingHttpHeaders): readonly string[] {
  return Array.isArray(raw) ? raw : toRawHeaders(handed)
}
