/** Services of Google's, made with grpc-js' own Server of the protos that Google's clients carry, and the factories for those clients. */

import type { ServiceDefinition, UntypedServiceImplementation } from '@grpc/grpc-js'
import { onTestFinished } from 'vitest'
import type { ChannelFactoryOptions } from '../../src/grpc-js/declarations.ts'
import { loadPackage } from '../support/clients/packages.ts'
import type { Transport } from './grpc-js-rig.ts'

/** grpc-js, as a package of the folder uses it: another copy than the one beside Dodici. */
export type Grpc = typeof import('@grpc/grpc-js')

/** The copy of grpc-js that these clients come from. */
export function loadGrpc(): Grpc {
  return loadPackage('grpc-clients', '@grpc/grpc-js')
}

/** A project, and an account: without one, Google's clients look for one in the network. No request needs a token. */
export const GOOGLE = {
  projectId: 'project',
  credentials: { client_email: 'account@project.example', private_key: 'none' },
}

/** What is used of `@grpc/proto-loader`. */
interface ProtoLoader {
  fromJSON(json: object, options: object): Record<string, ServiceDefinition>
}

export interface GoogleServer {
  readonly port: number
  /** How many connections there have been, at least: each call tells its peer. */
  readonly peers: Set<string>
  /** As if the server had been killed; it isn't there any more. */
  kill(): void
  /** It sends GOAWAY, and new connections are refused. */
  drain(): void
}

/**
 * Starts a server on loopback.
 *
 * @param protos a file in the folder: protos in protobufjs' own JSON
 * @param services the implementation of each service, by its full name
 */
export async function startGoogleServer(
  protos: string,
  services: Record<string, UntypedServiceImplementation>,
  options: { port?: number; maxStreams?: number } = {},
): Promise<GoogleServer> {
  const grpc = loadGrpc()
  const definitions = loadPackage<ProtoLoader>('grpc-clients', '@grpc/proto-loader').fromJSON(
    loadPackage('grpc-clients', `./node_modules/${protos}`),
    { longs: String, enums: String, defaults: true, oneofs: true },
  )
  const { port: wanted = 0, maxStreams } = options
  const server = new grpc.Server(
    maxStreams === undefined ? {} : { 'grpc.max_concurrent_streams': maxStreams },
  )
  const peers = new Set<string>()
  for (const [name, implementation] of Object.entries(services)) {
    const definition = definitions[name]
    if (definition === undefined) throw new Error(`${protos} has no service ${name}`)
    const watched = Object.entries(implementation).map(([method, handler]) => [
      method,
      (...args: Parameters<typeof handler>) => {
        peers.add(args[0].getPeer())
        return (handler as (...given: typeof args) => unknown)(...args)
      },
    ])
    server.addService(definition, Object.fromEntries(watched))
  }
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync(`127.0.0.1:${wanted}`, grpc.ServerCredentials.createInsecure(), (error, bound) =>
      error ? reject(error) : resolve(bound),
    )
  })
  onTestFinished(() => server.forceShutdown())
  return {
    port,
    peers,
    kill: () => server.forceShutdown(),
    drain: () => server.tryShutdown(() => {}),
  }
}

/** Options of google-gax for a transport. */
export function toGaxOptions(transport: Transport, options: ChannelFactoryOptions = {}): object {
  const { grpc } = loadPackage<{ grpc: Grpc }>('grpc-clients', 'google-gax')
  const factory = transport.toFactory({ grpc, ...options })
  return factory === null ? {} : { 'grpc.channelFactoryOverride': factory }
}
