/**
 * One call to a server in memory, before the clock starts. V8 compiles a function when it is first called, which takes
 * longer than a server on loopback needs: without a rehearsal, the report would show V8's times.
 *
 * @module
 */

import { lookup } from 'node:dns/promises'
import type { Socket } from 'node:net'
import { isIP } from 'node:net'
import type { Duplex } from 'node:stream'
import { Readable } from 'node:stream'
import { createSecureContext, TLSSocket } from 'node:tls'
import { noop } from '../../core/noop.ts'
import { FRAME_HEADER_SIZE, FrameType, PREFACE } from '../../protocol/frames.ts'
import { PairedDuplex } from '../../testing/duplex-pair.ts'
import { generateKey, toAuthorityCertificate, toLeafCertificate } from '../certificates/certificate.ts'
import { Terminal } from '../terminal.ts'
import { Inspection } from './inspection.ts'
import type { Plan } from './plan.ts'
import { NO_UPLOAD } from './upload.ts'

/** SETTINGS with MAX_CONCURRENT_STREAMS 100, and the acknowledgment of the client's SETTINGS. */
const SETTINGS = Buffer.from('000006040000000000000300000064000000040100000000', 'hex')

/** HEADERS on stream 1: `:status: 200`, and two fields from RFC 7541, C.6.1. DATA that ends the stream: `ok\n`. */
const RESPONSE = Buffer.from(
  '0000200104000000018858' +
    '85aec3771a4b6196d07abe941054d444a8200595040b8166e082a62d1bff0000030001000000016f6b0a',
  'hex',
)

/**
 * Plays a GET as the plan's call will be played: with or without TLS, with its engine, and with what it shows. It uses
 * nothing of the plan's request, and no byte leaves the process.
 *
 * @param signal ends it: its reason is a CliError
 * @throws the signal's reason
 */
export async function rehearse(plan: Plan, signal: AbortSignal): Promise<void> {
  const isTls = plan.target.url.protocol === 'https:'
  const key = generateKey()
  const [now, pem] = [new Date(), key.export({ type: 'pkcs8', format: 'pem' })]
  const terminal = new Terminal({
    env: {},
    stdin: Readable.from([]),
    stdout: NO_OUTPUT,
    stderr: NO_OUTPUT,
    on: noop,
    off: noop,
  })
  const rehearsed: Plan = {
    ...plan,
    target: {
      url: new URL(`${isTls ? 'https' : 'http'}://localhost/`),
      authorization: null,
      isSchemeAssumed: false,
    },
    method: 'GET',
    fields: [['user-agent', 'dodici']],
    upload: { ...NO_UPLOAD, sent: { bytes: 0 } },
    trust: isTls ? { ca: toAuthorityCertificate(key, now) } : {},
    proxy: null,
    output: null,
    decodes: false,
  }
  const open = async (): Promise<Socket> => {
    // V8 compiles a regular expression when it is first used, and once more the second time: Node's IPv6 pattern takes
    // 10 ms.
    isIP('localhost')
    isIP('localhost')
    // It is an address, so the name server isn't asked.
    await lookup('127.0.0.1', { all: true })
    const [client, server] = PairedDuplex.toPair()
    if (isTls) respondOnce(toSecure(server, toLeafCertificate(key, key, now), pem))
    else respondOnce(server)
    // Both engines, TLS and the tap accept any Duplex as a socket.
    return client as Duplex as Socket
  }
  try {
    await new Inspection(rehearsed, terminal, signal, open).run()
  } catch (error) {
    // What the inspection says about a server doesn't apply here.
    signal.throwIfAborted()
    throw error
  }
}

function toSecure(server: Duplex, cert: string, key: string | Buffer): Duplex {
  const secureContext = createSecureContext({ cert, key })
  return new TLSSocket(server, { isServer: true, secureContext, ALPNProtocols: ['h2'] })
}

/** The server: it reads frames up to the request's HEADERS, and responds. */
function respondOnce(server: Duplex): void {
  let received = Buffer.alloc(0)
  // Where the next frame begins.
  let next = PREFACE.length
  server.on('error', noop).on('data', (chunk: Buffer) => {
    if (received.length === 0) server.write(SETTINGS)
    received = Buffer.concat([received, chunk])
    while (received.length >= next + FRAME_HEADER_SIZE) {
      if (received[next + 3] === FrameType.HEADERS) server.write(RESPONSE)
      next += FRAME_HEADER_SIZE + received.readUIntBE(next, 3)
    }
  })
}

/** Accepts what the call would write. */
const NO_OUTPUT = {
  write(_chunk: unknown, callback?: () => void): void {
    callback?.()
  },
  on: noop,
}
