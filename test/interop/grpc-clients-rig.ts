/** Services for clients that others wrote, made with grpc-js' own Server, and what puts those clients on a transport. */

import { subscribe, unsubscribe } from 'node:diagnostics_channel'
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

export type Definitions = Record<string, ServiceDefinition>

/** What is used of `@grpc/proto-loader`. */
interface ProtoLoader {
  fromJSON(json: object, options: object): Definitions
  loadSync(file: string): Definitions
}

function loadProtoLoader(): ProtoLoader {
  return loadPackage('grpc-clients', '@grpc/proto-loader')
}

/** Services by their full names, of the protos that a client carries. @param file in protobufjs' own JSON */
export function toGoogleDefinitions(file: string): Definitions {
  const options = { longs: String, enums: String, defaults: true, oneofs: true }
  return loadProtoLoader().fromJSON(loadPackage('grpc-clients', `./node_modules/${file}`), options)
}

/** Services by their full names, of a `.proto` file. */
export function toDefinitions(file: string): Definitions {
  return loadProtoLoader().loadSync(file)
}

export interface ServiceServer {
  readonly port: number
  /** The connections that have brought a call. */
  readonly peers: Set<string>
  /** As if the server had been killed: it isn't there any more. */
  kill(): void
}

/** Starts a server on loopback. @param services the implementation of each service, by its full name */
export async function startServices(
  definitions: Definitions,
  services: Record<string, UntypedServiceImplementation>,
  options: { port?: number; maxStreams?: number } = {},
): Promise<ServiceServer> {
  const grpc = loadGrpc()
  const { port: wanted = 0, maxStreams } = options
  const server = new grpc.Server(
    maxStreams === undefined ? {} : { 'grpc.max_concurrent_streams': maxStreams },
  )
  const peers = new Set<string>()
  for (const [name, implementation] of Object.entries(services)) {
    const definition = definitions[name]
    if (definition === undefined) throw new Error(`there is no service ${name}`)
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
  return { port, peers, kill: () => server.forceShutdown() }
}

/** Options of google-gax for a transport. */
export function toGaxOptions(transport: Transport, options: ChannelFactoryOptions = {}): object {
  const { grpc } = loadPackage<{ grpc: Grpc }>('grpc-clients', 'google-gax')
  const factory = transport.toFactory({ grpc, ...options })
  return factory === null ? {} : { 'grpc.channelFactoryOverride': factory }
}

/** Counts the connections that Dodici makes until the test is over: a client that drops the factory makes none. */
export function countConnections(): { connections: number } {
  const seen = { connections: 0 }
  const listener = () => void seen.connections++
  subscribe('undici:client:connected', listener)
  onTestFinished(() => void unsubscribe('undici:client:connected', listener))
  return seen
}
