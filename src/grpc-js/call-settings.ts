/**
 * What a channel's calls have in common.
 *
 * @module
 */

import type { CallCredentials, ChannelOptions } from '@grpc/grpc-js'
import type { Encoding } from './compression.ts'
import { ACCEPTED_ENCODINGS, toEncoding } from './compression.ts'
import type { Connections } from './connections.ts'
import type { Grpc, MetadataClass } from './grpc.ts'
import { toGrpcVersion } from './grpc.ts'

const MAX_RECEIVED = 4 * 1024 * 1024
const UNLIMITED = -1

/** Names that a call's metadata can't set: the channel sends them, or they belong to another protocol. */
const OWN_FIELDS: ReadonlySet<string> = new Set([
  'accept-encoding',
  'content-type',
  'grpc-accept-encoding',
  'grpc-encoding',
  'te',
  'user-agent',
])

/** Read once, when the channel is created. */
export class CallSettings {
  readonly Metadata: MetadataClass
  readonly connections: Connections
  readonly callCredentials: CallCredentials
  /** The class of credentials that add nothing. */
  readonly #EmptyCredentials: unknown
  /** In bytes; -1: any size. */
  readonly maxReceived: number
  readonly maxSent: number
  readonly authority: string
  readonly #wantedEncoding: Encoding
  /** The encodings that the server has said it accepts; null before. */
  #serverEncodings: readonly string[] | null = null
  readonly #fixed: readonly string[]

  constructor(
    grpc: Grpc,
    connections: Connections,
    callCredentials: CallCredentials,
    authority: string,
    options: ChannelOptions,
  ) {
    this.Metadata = grpc.Metadata
    this.connections = connections
    this.callCredentials = callCredentials
    this.#EmptyCredentials = grpc.credentials.createEmpty().constructor
    this.maxReceived = options['grpc.max_receive_message_length'] ?? MAX_RECEIVED
    this.maxSent = options['grpc.max_send_message_length'] ?? UNLIMITED
    this.authority = options['grpc.default_authority'] || authority
    this.#wantedEncoding = toEncoding(options['grpc.default_compression_algorithm'])
    const agents = [
      options['grpc.primary_user_agent'],
      `grpc-node-js/${toGrpcVersion()}`,
      options['grpc.secondary_user_agent'],
    ]
    this.#fixed = [
      ...['te', 'trailers', 'content-type', 'application/grpc'],
      ...['user-agent', agents.filter(Boolean).join(' ')],
      ...['grpc-accept-encoding', ACCEPTED_ENCODINGS, 'accept-encoding', 'identity'],
    ]
  }

  /** The encoding for sent messages: never one that the server has said it doesn't accept. */
  get encoding(): Encoding {
    if (this.#serverEncodings === null || this.#serverEncodings.includes(this.#wantedEncoding))
      return this.#wantedEncoding
    return 'identity'
  }

  learnEncodings(field: string): void {
    this.#serverEncodings = field.split(',').map((name) => name.trim())
  }

  /** Null if no metadata has to be generated for the call. */
  toCredentials(ofCall: CallCredentials | null): CallCredentials | null {
    const own = this.#isEmpty(this.callCredentials) ? null : this.callCredentials
    if (ofCall === null || this.#isEmpty(ofCall)) return own
    return own === null ? ofCall : ofCall.compose(own)
  }

  #isEmpty(credentials: CallCredentials): boolean {
    return credentials.constructor === this.#EmptyCredentials
  }

  /**
   * The fields of every request.
   *
   * @param authority the value of `:authority`
   */
  toFields(authority: string, encoding: Encoding): string[] {
    const fields = this.#fixed.slice()
    if (authority !== this.connections.authority) fields.push('host', authority)
    if (encoding !== 'identity') fields.push('grpc-encoding', encoding)
    return fields
  }
}

/**
 * The fields in a call's metadata, as they are now, as a flat list.
 *
 * @param hasDeadline the call sends its own `grpc-timeout`; otherwise the metadata may contain one
 */
export function toMetadataFields(metadata: InstanceType<MetadataClass>, hasDeadline: boolean): string[] {
  const fields: string[] = []
  const headers = metadata.toHttp2Headers()
  for (const name in headers) {
    if (OWN_FIELDS.has(name) || (hasDeadline && name === 'grpc-timeout')) continue
    const values = headers[name]
    if (Array.isArray(values)) for (const value of values) fields.push(name, value)
    else if (values !== undefined) fields.push(name, String(values))
  }
  return fields
}
