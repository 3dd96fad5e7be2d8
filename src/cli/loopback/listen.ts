/**
 * Listens on the loopback interface, and nowhere else.
 *
 * @module
 */

import { isSystemError } from '../certificates/cache-folder.ts'
import { CliError, EXIT } from '../cli-error.ts'

/** How often it looks for a port that is free for both addresses. */
const ATTEMPTS = 20

/** A listener on one address. */
export interface Listening {
  readonly port: number
  /** Accepts no more connections. */
  close(): Promise<void>
}

/**
 * Listens on a port of 127.0.0.1 and, if there is one, of ::1.
 *
 * @param port 0 for any free one
 * @param option the name of the option that chooses it, for the message
 * @param listenOn throws a system error if it can't listen
 * @returns one or two, on the same port
 * @throws CliError if the port can't be listened on
 */
export async function listenOnLoopback<One extends Listening>(
  port: number,
  option: string,
  listenOn: (host: string, port: number) => Promise<One>,
): Promise<[One, ...One[]]> {
  try {
    return await listenOnBoth(port, listenOn)
  } catch (error) {
    if (isSystemError(error)) throw new CliError(toMessage(error, port, option), EXIT.listen)
    throw error
  }
}

async function listenOnBoth<One extends Listening>(
  port: number,
  listenOn: (host: string, port: number) => Promise<One>,
): Promise<[One, ...One[]]> {
  for (let attempt = 1; ; attempt++) {
    const first = await listenOn('127.0.0.1', port)
    try {
      return [first, await listenOn('::1', first.port)]
    } catch (error) {
      if (isWithoutAddress(error)) return [first]
      await first.close()
      // A port that is free for 127.0.0.1 may be in use for ::1.
      if (port !== 0 || attempt === ATTEMPTS) throw error
    }
  }
}

/** Without IPv6, as in many containers. */
function isWithoutAddress(error: unknown): boolean {
  return isSystemError(error) && ['EADDRNOTAVAIL', 'EAFNOSUPPORT'].includes(error.code)
}

function toMessage(error: NodeJS.ErrnoException, port: number, option: string): string {
  if (error.code === 'EADDRINUSE') {
    const choice = `choose another with ${option} PORT, or any with ${option} 0`
    return `port ${port} of the loopback interface is taken: ${choice}`
  }
  if (error.code === 'EACCES') {
    const choice = `choose one from 1024 up with ${option} PORT, or any with ${option} 0`
    return `port ${port} isn't allowed for this user: ${choice}`
  }
  return `can't listen on port ${port}: ${error.message}`
}
