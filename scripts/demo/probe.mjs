/**
 * A first look at a server that isn't the demo's own.
 */
import { once } from 'node:events'
import { connect as connectTcp } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { DemoError, explain, withinLimit } from './support.mjs'

/**
 * Finds out whether a server is there and, over TLS, what it negotiates, so that a missing server is one
 * clear message instead of a table full of errors.
 *
 * @param {URL} url
 * @param {boolean} insecure
 * @returns {Promise<string>} the protocol
 */
export async function probe(url, insecure) {
  const tls = url.protocol === 'https:'
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const port = Number(url.port) || (tls ? 443 : 80)
  const tcp = connectTcp({ host, port })
  try {
    await withinLimit(once(tcp, 'connect'))
  } catch (error) {
    tcp.destroy()
    throw new DemoError(`Can't reach ${url.origin}: ${explain(error)}`)
  }
  if (!tls) {
    tcp.destroy()
    return 'h2c'
  }
  // The offer that the client makes too. A certificate that isn't trusted is one clear message as well.
  const secured = connectTls({
    socket: tcp,
    ...(/^[\d.]+$|:/.test(host) ? {} : { servername: host }),
    ALPNProtocols: ['h2', 'http/1.1'],
    rejectUnauthorized: false,
  })
  try {
    await withinLimit(once(secured, 'secureConnect'))
    if (!secured.authorized && !insecure) {
      throw new DemoError(
        `The certificate of ${url.origin} isn't trusted (${secured.authorizationError}); --insecure skips the check.`,
      )
    }
    return secured.alpnProtocol || 'http/1.1'
  } catch (error) {
    if (error instanceof DemoError) throw error
    throw new DemoError(`No TLS with ${url.origin}: ${explain(error)}`)
  } finally {
    secured.destroy()
  }
}
