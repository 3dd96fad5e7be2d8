/**
 * The messages of SOCKS5 (RFC 1928), with user name and password (RFC 1929): bytes in, bytes out.
 *
 * @module
 */

import { isIPv4, isIPv6 } from 'node:net'
import { InvalidArgumentError } from '../errors/errors.ts'
import { Socks5ProxyError } from '../errors/proxy-errors.ts'
import type { Credentials } from './proxy-options.ts'
import type { TunnelTarget } from './tunnels.ts'

const VERSION = 5
const NO_AUTHENTICATION = 0
const BY_PASSWORD = 2
const NO_METHOD = 0xff
const AUTHENTICATION_VERSION = 1
const CONNECT = 1
const IPV4 = 1
const NAME = 3
const IPV6 = 4

/** RFC 1928 §6. */
const REPLIES: Readonly<Record<number, string>> = {
  1: 'general failure of the SOCKS server',
  2: 'connection not allowed by ruleset',
  3: 'network unreachable',
  4: 'host unreachable',
  5: 'connection refused',
  6: 'TTL expired',
  7: 'command not supported',
  8: 'address type not supported',
}

/** An error with undici's code. */
export function toSocksError(message: string, code: string): Socks5ProxyError {
  return new Socks5ProxyError(message, `UND_ERR_SOCKS5_${code}`)
}

function toPrefixed(name: string, text: string): Buffer {
  const bytes = Buffer.from(text)
  if (bytes.length === 0 || bytes.length > 255)
    throw new InvalidArgumentError(`Invalid ${name}: got ${bytes.length} bytes, expected 1 to 255`)
  return Buffer.concat([Buffer.of(bytes.length), bytes])
}

/** The 16 bytes of an address. The URL parser writes it in its canonical form, IPv4 tails included. */
function toIPv6Bytes(address: string): Buffer {
  const [text = ''] = address.split('%')
  const canonical = new URL(`http://[${text}]`).hostname.slice(1, -1)
  const [head = '', tail] = canonical.split('::')
  const toGroups = (part: string): string[] => (part === '' ? [] : part.split(':'))
  const before = toGroups(head)
  const after = toGroups(tail ?? '')
  const zeros = new Array<string>(8 - before.length - after.length).fill('0')
  const groups = [...before, ...zeros, ...after]
  return Buffer.concat(groups.map((group) => Buffer.from(group.padStart(4, '0'), 'hex')))
}

function toAddress(hostname: string): Buffer {
  if (isIPv4(hostname)) return Buffer.of(IPV4, ...hostname.split('.').map(Number))
  if (isIPv6(hostname)) return Buffer.concat([Buffer.of(IPV6), toIPv6Bytes(hostname)])
  return Buffer.concat([Buffer.of(NAME), toPrefixed("name of the origin's host", hostname)])
}

/** The first message: the offered authentication methods. */
export function toGreeting(credentials: Credentials | null): Buffer {
  return credentials === null
    ? Buffer.of(VERSION, 1, NO_AUTHENTICATION)
    : Buffer.of(VERSION, 2, BY_PASSWORD, NO_AUTHENTICATION)
}

/** @throws InvalidArgumentError for a name or a password that is too long for the message */
export function toAuthentication({ username, password }: Credentials): Buffer {
  const user = toPrefixed('username', username)
  const secret = password === '' ? Buffer.of(0) : toPrefixed('password', password)
  return Buffer.concat([Buffer.of(AUTHENTICATION_VERSION), user, secret])
}

/** Asks the proxy to connect. */
export function toConnectRequest({ hostname, port }: TunnelTarget): Buffer {
  return Buffer.concat([
    Buffer.of(VERSION, CONNECT, 0),
    toAddress(hostname),
    Buffer.of(port >> 8, port & 0xff),
  ])
}

/**
 * - `greeted`: the methods were offered
 * - `authenticating`: user name and password were sent
 * - `connecting`: the target was sent
 * - `connected`
 */
type HandshakeState = 'greeted' | 'authenticating' | 'connecting' | 'connected'

/** The handshake, without I/O: takes what the proxy has sent, and returns what to send. */
export class SocksHandshake {
  readonly #target: TunnelTarget
  readonly #credentials: Credentials | null
  #state: HandshakeState = 'greeted'
  #unread: Buffer = Buffer.alloc(0)

  constructor(target: TunnelTarget, credentials: Credentials | null) {
    this.#target = target
    this.#credentials = credentials
  }

  get isConnected(): boolean {
    return this.#state === 'connected'
  }

  /** The bytes after the last message: the first ones of the tunnel. */
  get rest(): Buffer {
    return this.#unread
  }

  /**
   * @returns what to send; null for nothing
   * @throws Socks5ProxyError if the proxy refuses or doesn't speak SOCKS5
   */
  receive(chunk: Buffer): Buffer | null {
    this.#unread = Buffer.concat([this.#unread, chunk])
    const messages: Buffer[] = []
    // One chunk may have several messages: a proxy that asks for no credentials may reply ahead.
    let before: HandshakeState
    do {
      before = this.#state
      const message = this.#step()
      if (message !== null) messages.push(message)
    } while (this.#state !== before)
    return messages.length === 0 ? null : Buffer.concat(messages)
  }

  #step(): Buffer | null {
    switch (this.#state) {
      case 'greeted':
        return this.#readMethod()
      case 'authenticating':
        return this.#readVerdict()
      case 'connecting':
        this.#readReply()
        return null
      default:
        return null
    }
  }

  #take(length: number): Buffer | null {
    if (this.#unread.length < length) return null
    const bytes = this.#unread.subarray(0, length)
    this.#unread = this.#unread.subarray(length)
    return bytes
  }

  #readMethod(): Buffer | null {
    const bytes = this.#take(2)
    if (bytes === null) return null
    const [version, method] = bytes
    if (version !== VERSION)
      throw toSocksError(`The proxy doesn't speak SOCKS5: its version is ${version}`, 'VERSION')
    if (method === NO_AUTHENTICATION) return this.#connect()
    if (method === BY_PASSWORD && this.#credentials !== null) {
      this.#state = 'authenticating'
      return toAuthentication(this.#credentials)
    }
    if (method === NO_METHOD)
      throw toSocksError(
        'The SOCKS5 proxy accepts none of the offered authentication methods',
        'AUTH_REJECTED',
      )
    throw toSocksError(`The SOCKS5 proxy chose the authentication method ${method}`, 'AUTH_METHOD')
  }

  #readVerdict(): Buffer | null {
    const bytes = this.#take(2)
    if (bytes === null) return null
    const [version, status] = bytes
    if (version !== AUTHENTICATION_VERSION)
      throw toSocksError(`The SOCKS5 proxy's authentication version is ${version}`, 'AUTH_VERSION')
    if (status !== 0) throw toSocksError('The SOCKS5 proxy refused the user name and password', 'AUTH_FAILED')
    return this.#connect()
  }

  #connect(): Buffer {
    this.#state = 'connecting'
    return toConnectRequest(this.#target)
  }

  #readReply(): void {
    const [version, reply, , type, length] = this.#unread
    if (version !== undefined && version !== VERSION)
      throw toSocksError(`The SOCKS5 proxy's reply version is ${version}`, 'REPLY_VERSION')
    // Some proxies close the connection behind a refusal's first bytes.
    if (reply !== undefined && reply !== 0)
      throw toSocksError(`The SOCKS5 proxy replied: ${REPLIES[reply] ?? `code ${reply}`}`, `REPLY_${reply}`)
    if (type === undefined || length === undefined) return
    if (type !== IPV4 && type !== IPV6 && type !== NAME)
      throw toSocksError(`The SOCKS5 proxy replied with an address of type ${type}`, 'ADDR_TYPE')
    const address = type === IPV4 ? 4 : type === IPV6 ? 16 : 1 + length
    if (this.#take(4 + address + 2) !== null) this.#state = 'connected'
  }
}
