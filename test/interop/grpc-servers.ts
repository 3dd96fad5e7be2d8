/** The servers that gRPC is tested against. Both serve the methods that `grpc-go/service.go` tells of. */

import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildGo } from '../support/servers/programs.ts'
import { lacksGo } from '../support/servers/restarting-server.ts'
import type { Cleaner } from './fetch-servers.ts'
import { launch, makeFolder } from './fetch-servers.ts'

export type GrpcServerName = 'grpc-go' | 'grpc-js'

/** A server that runs. */
export interface GrpcServer {
  readonly origin: string
  /** To be trusted by `connect: { ca }`; `''` without TLS. */
  readonly ca: string
}

export interface GrpcServerOptions {
  /** Otherwise h2c. @default false */
  readonly tls?: boolean
  /** Milliseconds after which a connection is retired, with a jitter of a tenth. `0`: never. @default 0 */
  readonly maxConnectionAge?: number
}

/** Those that are here. */
export const GRPC_SERVERS: readonly GrpcServerName[] = lacksGo ? ['grpc-js'] : ['grpc-go', 'grpc-js']

/**
 * How long building and starting them may take, in milliseconds: half a minute where Go has compiled nothing before.
 */
export const GRPC_START_LIMIT = 180_000

const script = fileURLToPath(new URL('./children/grpc-js-server.mjs', import.meta.url))
const module = fileURLToPath(new URL('./grpc-go/', import.meta.url))
const LISTENING = /^listening (\d+)$/m

/** Starts one that ends with the cleaner. */
export async function startGrpcServer(
  name: GrpcServerName,
  cleaner: Cleaner,
  { tls = false, maxConnectionAge = 0 }: GrpcServerOptions = {},
): Promise<GrpcServer> {
  const { path, key, certificate, ca } = await makeFolder(cleaner, name)
  const args = tls ? ['--key', key, '--certificate', certificate] : []
  if (maxConnectionAge > 0) args.push('--max-connection-age', `${maxConnectionAge}ms`)
  const binary = join(path, 'server')
  if (name === 'grpc-go') await buildGo(binary, { module })
  const command = name === 'grpc-go' ? [binary, ...args] : [process.execPath, script, ...args]
  const { match } = await launch(cleaner, command[0] as string, command.slice(1), LISTENING)
  const origin = tls ? 'https://localhost' : 'http://127.0.0.1'
  return { origin: `${origin}:${match[1]}`, ca: tls ? ca : '' }
}
