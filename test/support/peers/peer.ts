/** A fault server that isn't polite: it does what the script of a connection says, and nothing else. No test runner. */

import type { ConnectionScript } from '../../../src/testing/fault-connection.ts'
import type { FaultServerOptions } from '../../../src/testing/fault-options.ts'
import type { FaultServer } from '../../../src/testing/fault-server.ts'
import { createFaultServer } from '../../../src/testing/fault-server.ts'

/** Milliseconds: for the message of a test that fails, however busy the machine is. */
export const TIMEOUT = 120_000

/** DATA goes out at once, legal or not. */
const AT_ONCE: ConnectionScript = { obeysWindows: false }

/**
 * Starts one on a free port of the loopback interface.
 *
 * @param scripts one for each connection in turn; the last is that of all further ones, too
 */
export async function listenPeer(
  scripts: ConnectionScript | readonly ConnectionScript[],
  options: FaultServerOptions = {},
): Promise<FaultServer> {
  const server = await createFaultServer({ h2c: options.key === undefined, timeout: TIMEOUT, ...options })
  const list = 'length' in scripts ? scripts : [scripts]
  server.onConnection('*', AT_ONCE)
  for (const [place, script] of list.entries()) {
    server.onConnection(({ index }) => Math.min(index, list.length - 1) === place, script)
  }
  return server.onRequest('*', () => {}, { at: 'header' })
}
