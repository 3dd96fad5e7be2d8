/** Which certificate a resumed TLS session stands for. */

import { EventEmitter } from 'node:events'
import type { TLSSocket } from 'node:tls'
import { describe, expect, it } from 'vitest'
import { TlsTicket } from '../../../src/session/tls-ticket.ts'

const CERTIFICATE = { valid_to: 'Jan  1 00:00:00 2100 GMT' }

/** What a ticket asks a socket. Such a handshake brings no certificate, and Node calls it authorized. */
function toSocket(isReused: boolean, authorized = true): TLSSocket {
  return Object.assign(new EventEmitter(), {
    authorized,
    isSessionReused: () => isReused,
    getPeerCertificate: () => (isReused ? {} : CERTIFICATE),
  }) as unknown as TLSSocket
}

function play(isVerified: boolean) {
  const tickets = new TlsTicket({ now: () => 0 })
  tickets.keepCertificates()
  const first = toSocket(false, isVerified)
  tickets.watch(first, undefined)
  first.emit('session', Buffer.from('one'))
  const second = toSocket(true)
  tickets.watch(second, undefined, tickets.get(undefined))
  second.emit('session', Buffer.from('two'))
  const third = toSocket(true)
  tickets.watch(third, undefined, tickets.get(undefined))
  return [second, third].map((socket) => tickets.certificateOf(socket))
}

describe('a resumed session', () => {
  it('stands for the certificate that the first handshake has verified', () => {
    expect(play(true)).toEqual([CERTIFICATE, CERTIFICATE])
  })

  it('of a server that `rejectUnauthorized: false` has let pass stands for none', () => {
    expect(play(false)).toEqual([null, null])
  })
})
