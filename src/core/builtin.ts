/**
 * Modules of Node that take milliseconds to load, and that not every program needs: they are loaded when they are first
 * used, not with the package.
 *
 * @module
 */

import type * as crypto from 'node:crypto'
import type * as dns from 'node:dns'
import type * as http2 from 'node:http2'
import type * as web from 'node:stream/web'
import type * as tls from 'node:tls'
import type * as zlib from 'node:zlib'
import { loadWithTimers } from './original-timers.ts'

/** For digests, and for TLS options. */
export function loadCrypto(): typeof crypto {
  return loadWithTimers(() => process.getBuiltinModule('node:crypto'))
}

/** For the names of upstreams. */
export function loadDns(): typeof dns {
  return loadWithTimers(() => process.getBuiltinModule('node:dns'))
}

/** For engine `node`. */
export function loadHttp2(): typeof http2 {
  return loadWithTimers(() => process.getBuiltinModule('node:http2'))
}

/** For `https:` origins. */
export function loadTls(): typeof tls {
  return loadWithTimers(() => process.getBuiltinModule('node:tls'))
}

/** For `body` as a web stream. */
export function loadWebStreams(): typeof web {
  return loadWithTimers(() => process.getBuiltinModule('node:stream/web'))
}

/** For `fetch()`. */
export function loadZlib(): typeof zlib {
  return loadWithTimers(() => process.getBuiltinModule('node:zlib'))
}

/** Whether a socket comes from node:tls, without loading that module for other sockets. */
export function isTlsSocket(socket: object): socket is tls.TLSSocket {
  return 'encrypted' in socket && socket.encrypted === true && socket instanceof loadTls().TLSSocket
}
