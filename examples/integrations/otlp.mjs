/** OpenTelemetry's exporters of OTLP over gRPC, on Dodici's channels: they have no option for a channel. */

// @ts-check

import { createRequire } from 'node:module'
import { channelFactory } from 'dodici/grpc-js'

/**
 * The exporters load `@grpc/grpc-js` when they send for the first time, so that instrumentations can wrap it until then. This is such a wrap: every client
 * that the exporters make from now on has a channel of Dodici's. Other clients of that copy of grpc-js stay as they are.
 *
 * @param {NodeJS.Require} require of a module that can load the exporters: they may have a copy of grpc-js that is theirs alone
 * @param {import('dodici/grpc-js').ChannelFactoryOptions} [options] of the factory
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
