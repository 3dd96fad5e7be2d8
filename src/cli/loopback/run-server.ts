/**
 * Runs a server on loopback until Ctrl-C: its ports, its certificate, and its messages.
 *
 * @module
 */

import { toCacheFolder } from '../certificates/cache-folder.ts'
import type { ServerCertificate } from '../certificates/certificate-store.ts'
import { loadServerCertificate } from '../certificates/certificate-store.ts'
import type { ExitCode } from '../cli-error.ts'
import { CliError, EXIT } from '../cli-error.ts'
import { toInteger } from '../options.ts'
import type { Terminal } from '../terminal.ts'
import type { ServedFacts } from './banner.ts'
import { toBanner } from './banner.ts'
import type { Listening } from './listen.ts'
import { listenOnLoopback } from './listen.ts'

const DEFAULT_PORT = 12_080
const DEFAULT_TLS_PORT = 12_443
const MAX_PORT = 65_535

/** The options of every server. */
export const SERVER_OPTIONS = {
  port: {
    type: 'string',
    short: 'p',
    value: 'PORT',
    help: `port without TLS (default: ${DEFAULT_PORT}; 0: any free port)`,
  },
  'tls-port': {
    type: 'string',
    value: 'PORT',
    help: `port with TLS (default: ${DEFAULT_TLS_PORT}; 0: any free port)`,
  },
  'no-tls': { type: 'boolean', help: 'no TLS and no certificates' },
} as const

/** Their values. */
interface ServerValues {
  readonly port: string | undefined
  readonly 'tls-port': string | undefined
  readonly 'no-tls': boolean
}

/** Where a server should listen, checked. */
export interface ServerPorts {
  /** 0 for any. */
  readonly port: number
  /** 0 for any; null for no TLS. */
  readonly tlsPort: number | null
}

/** @throws CliError for invalid ports, or if both are the same */
export function toServerPorts(options: ServerValues): ServerPorts {
  const port = toPort('--port', options.port, DEFAULT_PORT)
  const tlsPort = toPort('--tls-port', options['tls-port'], DEFAULT_TLS_PORT)
  if (options['no-tls']) return { port, tlsPort: null }
  if (port === tlsPort && port !== 0) {
    throw new CliError(`--port and --tls-port are both ${port}`, EXIT.usage)
  }
  return { port, tlsPort }
}

function toPort(name: string, text: string | undefined, otherwise: number): number {
  return text === undefined ? otherwise : toInteger(name, text, 0, MAX_PORT)
}

/**
 * Listens on one address.
 *
 * @param certificate null for the port without TLS
 */
export type ListenOn = (
  host: string,
  port: number,
  certificate: ServerCertificate | null,
) => Promise<Listening>

/**
 * Listens on both ports, announces that, and ends at Ctrl-C.
 *
 * @param facts what the server says about itself
 * @throws CliError if a port can't be listened on, or the certificate can't be loaded
 */
export async function runServer(
  { port, tlsPort }: ServerPorts,
  facts: Pick<ServedFacts, 'title' | 'contents' | 'example'>,
  terminal: Terminal,
  listenOn: ListenOn,
): Promise<ExitCode> {
  const certificate =
    tlsPort === null ? null : await loadServerCertificate(toCacheFolder(terminal.env), new Date())
  // Before the server listens, so that an early signal isn't lost.
  const interrupted = terminal.interrupted()
  const listening: Listening[] = []
  try {
    const plain = await listenOnLoopback(port, '--port', (host, at) => listenOn(host, at, null))
    listening.push(...plain)
    const secure =
      tlsPort === null
        ? []
        : await listenOnLoopback(tlsPort, '--tls-port', (host, at) => listenOn(host, at, certificate))
    listening.push(...secure)
    const ports = { port: plain[0].port, tlsPort: secure[0]?.port ?? null }
    terminal.print(toBanner({ ...facts, ...ports, caPath: certificate?.caPath ?? null }))
    await interrupted
  } finally {
    await Promise.all(listening.map((one) => one.close()))
  }
  return EXIT.ok
}
