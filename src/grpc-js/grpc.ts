/**
 * What the channels use from `@grpc/grpc-js`, an optional peer: the caller's copy, or the installed one.
 *
 * @module
 */

import { createRequire } from 'node:module'
import type { Socket } from 'node:net'
import type { CallCredentials, ChannelCredentials, ChannelOptions, Metadata } from '@grpc/grpc-js'
import type { GrpcLibrary } from './declarations.ts'

/** The library, with the types of the copy that Dodici is built against. */
export type Grpc = Pick<typeof import('@grpc/grpc-js'), 'Channel' | 'Metadata' | 'credentials'>

/** Starts TLS on a socket, or leaves it as it is. These members of grpc-js are undocumented. */
export interface SecureConnector {
  connect(socket: Socket): Promise<{ readonly socket: Socket; readonly secure: boolean }>
  waitForReady(): Promise<void>
  getCallCredentials(): CallCredentials
  destroy(): void
}

/** Credentials as the channels use them. */
export interface Credentials {
  _isSecure(): boolean
  _equals(other: Credentials): boolean
  _createSecureConnector(
    target: { readonly scheme?: string; readonly authority?: string; readonly path: string },
    options: ChannelOptions,
  ): SecureConnector
}

/** Null for what an older or newer grpc-js has created differently. */
export function toCredentials(given: ChannelCredentials): Credentials | null {
  const it = given as unknown as Partial<Credentials> | null | undefined
  const isKnown =
    typeof it?._isSecure === 'function' &&
    typeof it._equals === 'function' &&
    typeof it._createSecureConnector === 'function'
  return isKnown ? (it as Credentials) : null
}

/** @throws Error if no copy is given, and none is installed */
export function toGrpc(given: GrpcLibrary | undefined): Grpc {
  return (given ?? loadGrpc()) as Grpc
}

function loadGrpc(): GrpcLibrary {
  try {
    return createRequire(import.meta.url)('@grpc/grpc-js')
  } catch (cause) {
    const message =
      'dodici/grpc-js needs @grpc/grpc-js: install it, or pass it: channelFactory({ grpc }) with import * as grpc'
    throw new Error(message, { cause })
  }
}

/** The installed copy's version, for the field `user-agent`. A caller's copy doesn't tell. */
export function toGrpcVersion(): string {
  try {
    return String(createRequire(import.meta.url)('@grpc/grpc-js/package.json').version)
  } catch {
    // A bundle has no package.json.
    return 'dodici'
  }
}

/** Statuses that the channel itself creates (https://grpc.github.io/grpc/core/md_doc_statuscodes.html). */
export const Status = Object.freeze({
  OK: 0,
  CANCELLED: 1,
  UNKNOWN: 2,
  DEADLINE_EXCEEDED: 4,
  PERMISSION_DENIED: 7,
  RESOURCE_EXHAUSTED: 8,
  UNIMPLEMENTED: 12,
  INTERNAL: 13,
  UNAVAILABLE: 14,
  UNAUTHENTICATED: 16,
})

/** A class from the caller's copy, so that `instanceof` works there. */
export type MetadataClass = typeof Metadata
