/**
 * A transport's options, checked, with their defaults.
 *
 * @module
 */

import { validateReadWriteMaxBytes } from '@connectrpc/connect/protocol'
import { errors } from '../index.ts'
import { compressionBrotli, compressionGzip } from './compression.ts'
import type { TransportOptions } from './declarations.ts'

type Optional = 'dispatcher' | 'jsonOptions' | 'binaryOptions' | 'defaultTimeoutMs'

/** The options with their defaults. Undefined ones have none. */
export type Settings = {
  readonly [Name in keyof Required<TransportOptions>]: Name extends Optional
    ? TransportOptions[Name]
    : Exclude<TransportOptions[Name], undefined>
}

/** Every option; the compiler reports a missing one. */
const KNOWN: Readonly<Record<keyof TransportOptions, true>> = {
  baseUrl: true,
  protocol: true,
  dispatcher: true,
  useBinaryFormat: true,
  interceptors: true,
  acceptCompression: true,
  sendCompression: true,
  compressMinBytes: true,
  readMaxBytes: true,
  writeMaxBytes: true,
  jsonOptions: true,
  binaryOptions: true,
  useHttpGet: true,
  defaultTimeoutMs: true,
}

const PROTOCOLS: readonly unknown[] = ['connect', 'grpc', 'grpc-web']

/** @throws InvalidArgumentError, or a ConnectError for a limit out of range */
export function toSettings(options: TransportOptions): Settings {
  check(options)
  const { readMaxBytes, writeMaxBytes, compressMinBytes } = options
  return {
    baseUrl: options.baseUrl,
    protocol: options.protocol,
    dispatcher: options.dispatcher,
    useBinaryFormat: options.useBinaryFormat ?? true,
    interceptors: options.interceptors ?? [],
    acceptCompression: options.acceptCompression ?? [compressionGzip, compressionBrotli],
    sendCompression: options.sendCompression ?? null,
    ...validateReadWriteMaxBytes(readMaxBytes, writeMaxBytes, compressMinBytes),
    jsonOptions: options.jsonOptions,
    binaryOptions: options.binaryOptions,
    useHttpGet: options.useHttpGet ?? false,
    defaultTimeoutMs: options.defaultTimeoutMs,
  }
}

function check(options: TransportOptions): void {
  for (const [name, value] of Object.entries(options)) {
    if (!(name in KNOWN) && value !== undefined) {
      const text = `createTransport() has no option '${name}': set connection options on the dispatcher`
      throw new errors.InvalidArgumentError(text)
    }
  }
  const { baseUrl, protocol, dispatcher, useHttpGet } = options
  if (!URL.canParse(baseUrl)) throw new errors.InvalidArgumentError(`baseUrl must be a URL: ${baseUrl}`)
  if (!PROTOCOLS.includes(protocol)) {
    const text = `protocol must be 'connect', 'grpc' or 'grpc-web': ${protocol}`
    throw new errors.InvalidArgumentError(text)
  }
  if (dispatcher !== undefined && typeof dispatcher?.dispatch !== 'function') {
    throw new errors.InvalidArgumentError('dispatcher must have dispatch()')
  }
  if (useHttpGet === true && protocol !== 'connect') {
    throw new errors.InvalidArgumentError(`protocol '${protocol}' has no GET: useHttpGet is for 'connect'`)
  }
}
