// Type-checked against the declarations for `import`; never run.
import type { Transport } from '@connectrpc/connect'
import { Agent } from 'dodici'
import type { TransportOptions } from 'dodici/connect'
import { compressionBrotli, compressionGzip, createTransport } from 'dodici/connect'

const options: TransportOptions = {
  baseUrl: 'https://localhost',
  protocol: 'grpc-web',
  dispatcher: new Agent(),
  acceptCompression: [compressionGzip, compressionBrotli],
  interceptors: [(next) => (request) => next(request)],
}

export const transport: Transport = createTransport(options)
