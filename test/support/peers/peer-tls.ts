/** TLS for a peer in our own tests. */

import type { FaultServerOptions } from '../../../src/testing/fault-options.ts'
import { toCertificate } from '../servers/server.ts'

/** How a TLS peer listens, and whom its clients have to trust. */
export interface TlsPeer {
  readonly options: FaultServerOptions
  readonly ca: string
}

/** TLS with ALPN `h2`, and a certificate for `localhost`. */
export async function toTlsPeer(): Promise<TlsPeer> {
  const { private: key, cert } = await toCertificate()
  return { options: { key, cert }, ca: cert }
}
