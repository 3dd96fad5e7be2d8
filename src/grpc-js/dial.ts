/**
 * How a target's connections are opened: TCP or a Unix socket, possibly a tunnel, and TLS with the channel credentials.
 *
 * @module
 */

import { once } from 'node:events'
import type { Socket } from 'node:net'
import { connect } from 'node:net'
import type { PoolOptions } from '../index.ts'
import type { SecureConnector } from './grpc.ts'
import type { HttpProxy } from './proxy.ts'
import { openTunnel } from './proxy.ts'
import type { Address } from './target.ts'

/** How a Pool connects. */
export type Connector = Extract<NonNullable<PoolOptions['connect']>, (...given: never[]) => unknown>

/** How long one address gets, including TLS, in milliseconds. */
const CONNECT_TIMEOUT = 20_000

/** After how many milliseconds without a connection the next address is tried, too. As in grpc-js. */
const ATTEMPT_DELAY = 250

/**
 * For how many milliseconds an address is tried last after a connection to it brought nothing. gRPC's longest back-off.
 */
const MUTE_AGE = 120_000

/** After how many milliseconds without a byte from the server its address counts as mute. */
const MUTE_AFTER = 100

const LATE = `No connection within ${CONNECT_TIMEOUT} ms`

/** Connects to one address, unless the signal ends the attempt. */
type DialAddress = (address: Address, signal: AbortSignal) => Promise<Socket>

/** A connect function for one target's addresses: it uses the first one that can be reached, in their order. */
export function toConnector(
  addresses: readonly Address[],
  proxy: HttpProxy | null,
  secure: SecureConnector,
): Connector {
  const mute = new MuteAddresses(addresses)
  return async ({ signal }) => {
    await secure.waitForReady()
    const dialled = new Map<Socket, Address>()
    const dialAddress: DialAddress = async (address, ended) => {
      const socket = await dial(address, proxy, secure, ended)
      dialled.set(socket, address)
      return socket
    }
    const socket = await AddressRace.run(mute.sort(performance.now()), dialAddress, signal)
    const address = dialled.get(socket)
    if (address !== undefined && addresses.length > 1) mute.watch(address, socket)
    return socket
  }
}

/**
 * Addresses that accept connections and send nothing. Only a session finds that out, when its SETTINGS are late: then
 * the next connection must not go to the same address.
 */
class MuteAddresses {
  readonly #addresses: readonly Address[]
  /** By address: until when it is tried last, in milliseconds of `performance.now()`. */
  readonly #until = new Map<Address, number>()

  constructor(addresses: readonly Address[]) {
    this.#addresses = addresses
  }

  /** All addresses in their order, but those that are mute come last. */
  sort(now: number): readonly Address[] {
    if (this.#until.size === 0) return this.#addresses
    const isMute = (address: Address): boolean => now < (this.#until.get(address) ?? 0)
    const mute = this.#addresses.filter(isMute)
    return [...this.#addresses.filter((address) => !isMute(address)), ...mute]
  }

  /** The connection is in use from now on. With TLS, the handshake has brought bytes. */
  watch(address: Address, socket: Socket): void {
    const startedAt = performance.now()
    socket.once('close', () => {
      const now = performance.now()
      if (socket.bytesRead > 0) this.#until.delete(address)
      else if (now - startedAt >= MUTE_AFTER) this.#until.set(address, now + MUTE_AGE)
    })
  }
}

/**
 * Tries addresses in their order. The next attempt begins when one fails, or takes long: an address that never answers
 * must not hide the others. The first connection ends the other attempts.
 */
class AddressRace {
  readonly #addresses: readonly Address[]
  readonly #dialAddress: DialAddress
  readonly #onConnected: (socket: Socket) => void
  readonly #onFailed: (reason: unknown) => void
  /** The attempts that are running. */
  readonly #attempts = new Set<AbortController>()
  /** The index of the next address. */
  #next = 0
  /** The first failure; null before. */
  #failure: { readonly reason: unknown } | null = null
  /** Begins the next attempt; null if none will begin while all running ones continue. */
  #timer: NodeJS.Timeout | null = null
  #isOver = false

  private constructor(
    addresses: readonly Address[],
    dialAddress: DialAddress,
    onConnected: (socket: Socket) => void,
    onFailed: (reason: unknown) => void,
  ) {
    this.#addresses = addresses
    this.#dialAddress = dialAddress
    this.#onConnected = onConnected
    this.#onFailed = onFailed
  }

  /**
   * @param signal ends all attempts
   * @throws the first failure if all attempts fail
   */
  static run(
    addresses: readonly Address[],
    dialAddress: DialAddress,
    signal: AbortSignal | undefined,
  ): Promise<Socket> {
    return new Promise((resolve, reject) => {
      const race = new AddressRace(addresses, dialAddress, resolve, reject)
      const onAbort = (): void => race.#fail(signal?.reason)
      signal?.addEventListener('abort', onAbort, { once: true })
      if (signal?.aborted === true) onAbort()
      else race.#begin()
    })
  }

  #begin(): void {
    this.#stopTimer()
    const address = this.#addresses[this.#next++]
    if (address === undefined) {
      if (this.#attempts.size === 0)
        this.#fail(this.#failure === null ? new Error('The target has no address') : this.#failure.reason)
      return
    }
    if (this.#next < this.#addresses.length) this.#timer = setTimeout(() => this.#begin(), ATTEMPT_DELAY)
    const attempt = new AbortController()
    const late = setTimeout(() => attempt.abort(new Error(LATE)), CONNECT_TIMEOUT).unref()
    this.#attempts.add(attempt)
    const dialled = this.#dialAddress(address, attempt.signal).finally(() => clearTimeout(late))
    dialled.then(
      (socket) => this.#onSocket(attempt, socket),
      (reason) => this.#onFailure(attempt, reason),
    )
  }

  #onSocket(attempt: AbortController, socket: Socket): void {
    this.#attempts.delete(attempt)
    if (this.#isOver) {
      socket.destroy()
      return
    }
    this.#end()
    this.#onConnected(socket)
  }

  #onFailure(attempt: AbortController, reason: unknown): void {
    this.#attempts.delete(attempt)
    this.#failure ??= { reason }
    if (!this.#isOver) this.#begin()
  }

  #fail(reason: unknown): void {
    if (this.#isOver) return
    this.#end()
    this.#onFailed(reason)
  }

  #end(): void {
    this.#isOver = true
    this.#stopTimer()
    for (const attempt of this.#attempts) attempt.abort()
  }

  #stopTimer(): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
  }
}

async function dial(
  address: Address,
  proxy: HttpProxy | null,
  secure: SecureConnector,
  signal: AbortSignal,
): Promise<Socket> {
  const socket = await open(address, proxy, signal)
  let onAbort = (): void => {}
  // TLS doesn't report that the socket below it was destroyed.
  const ended = new Promise<never>((_resolve, reject) => {
    onAbort = () => reject(signal.reason)
  })
  signal.addEventListener('abort', onAbort)
  try {
    signal.throwIfAborted()
    return (await Promise.race([secure.connect(socket), ended])).socket
  } catch (error) {
    socket.destroy()
    throw error
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}

async function open(address: Address, proxy: HttpProxy | null, signal: AbortSignal): Promise<Socket> {
  if (proxy !== null && 'host' in address) return openTunnel(proxy, address.host, address.port, signal)
  const socket = connect(address)
  // Its session, or TLS, is told about its end, too. Until then, an error must not be an uncaught exception.
  socket.on('error', ignore)
  try {
    await once(socket, 'connect', { signal })
    return socket
  } catch (error) {
    socket.destroy()
    throw error
  }
}

function ignore(): void {}
