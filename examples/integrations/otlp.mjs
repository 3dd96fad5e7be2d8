/** Puts OpenTelemetry's OTLP/gRPC exporters, which have no option for a channel, on Dodici's channels. */

// @ts-check

import { createRequire } from 'node:module'
import { channelFactory } from 'dodici/grpc-js'

/**
 * The exporters load `@grpc/grpc-js` only with their first export, so that instrumentations can wrap it before. This function is such a wrapper: every
 * client that the exporters create from now on has a Dodici channel. Other clients of that copy of grpc-js don't change.
 *
 * @param {NodeJS.Require} require from a module that can load the exporters, because they may have their own copy of grpc-js
 * @param {import('dodici/grpc-js').ChannelFactoryOptions} [options] the factory's options
 */
export function exportByDodici(require, options) {
  const exporters = createRequire(require.resolve('@opentelemetry/exporter-trace-otlp-grpc'))
  const base = createRequire(exporters.resolve('@opentelemetry/otlp-grpc-exporter-base'))
  const file = base.resolve('@grpc/grpc-js')
  const grpc = base(file)
  const channelFactoryOverride = channelFactory({ grpc, ...options })

  /** @param {unknown[]} definition of the service, and its name */
  function makeGenericClientConstructor(...definition) {
    const Client = grpc.makeGenericClientConstructor(...definition)
    return class extends Client {
      /** @param {string} target @param {unknown} credentials @param {object} clientOptions */
      constructor(target, credentials, clientOptions) {
        super(target, credentials, { channelFactoryOverride, ...clientOptions })
      }
    }
  }
  const module = base.cache[file]
  if (module) module.exports = { ...grpc, makeGenericClientConstructor }
}
