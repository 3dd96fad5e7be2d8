/** A connect-es client over Dodici, for any service generated for connect-es. */

// @ts-check

import { createClient } from '@connectrpc/connect'
import { Client } from 'dodici'
import { createTransport } from 'dodici/connect'

/**
 * A client of one server, on one connection.
 *
 * @template {import('@bufbuild/protobuf').DescService} TService
 * @param {TService} service what the generator made of the service
 * @param {string} baseUrl such as `https://localhost:50051`; an `http:` URL is h2c
 * @param {Partial<import('dodici/connect').TransportOptions>} [options]
 */
export function openClient(service, baseUrl, options = {}) {
  const dispatcher = new Client(new URL(baseUrl).origin, { engine: 'wire' })
  const transport = createTransport({ baseUrl, protocol: 'grpc', dispatcher, ...options })
  return {
    client: createClient(service, transport),
    /** It waits for calls that are running. */
    close: () => dispatcher.close(),
  }
}
