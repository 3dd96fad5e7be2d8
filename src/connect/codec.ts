/**
 * What a transport knows about a method, created at its first call and kept.
 *
 * @module
 */

import type { DescMessage, DescMethodStreaming, DescMethodUnary, MessageShape } from '@bufbuild/protobuf'
import { MethodOptions_IdempotencyLevel } from '@bufbuild/protobuf/wkt'
import { createMethodSerializationLookup, createMethodUrl } from '@connectrpc/connect/protocol'
import type { Sending, Target } from './exchange.ts'
import { toTarget } from './exchange.ts'
import type { Settings } from './settings.ts'

export type Method<I extends DescMessage, O extends DescMessage> =
  | DescMethodUnary<I, O>
  | DescMethodStreaming<I, O>

/** Fields in both forms. No call may change them. */
export interface PlainHeader {
  readonly header: Headers
  readonly raw: readonly string[]
}

export class Codec<I extends DescMessage, O extends DescMessage> implements Sending {
  readonly dispatcher: Settings['dispatcher']
  readonly target: Target
  readonly idempotent: boolean
  readonly hasNoSideEffects: boolean
  readonly serialize: (message: MessageShape<I>) => Uint8Array<ArrayBuffer>
  readonly parse: (data: Uint8Array) => MessageShape<O>
  /** Fields for calls that set none themselves: created by the first such call. */
  plain: PlainHeader | null = null

  constructor(method: Method<I, O>, settings: Settings) {
    const { useBinaryFormat, baseUrl, binaryOptions, jsonOptions } = settings
    const lookup = createMethodSerializationLookup(method, binaryOptions, jsonOptions, settings)
    this.dispatcher = settings.dispatcher
    this.target = toTarget(createMethodUrl(baseUrl, method))
    this.hasNoSideEffects = method.idempotency === MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS
    this.idempotent =
      this.hasNoSideEffects || method.idempotency === MethodOptions_IdempotencyLevel.IDEMPOTENT
    this.serialize = lookup.getI(useBinaryFormat).serialize
    this.parse = lookup.getO(useBinaryFormat).parse
  }
}
