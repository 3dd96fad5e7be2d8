/**
 * Streams from before Node's Readable, such as a `Stream` that emits `data`, or the forms of the package `form-data`.
 *
 * @module
 */

import { Readable, Writable } from 'node:stream'
import { RequestAbortedError } from '../errors/errors.ts'

/** What is used of such a stream. It may emit whether it is asked or not. */
export interface OldStream {
  on(event: 'data', listener: (chunk: unknown) => void): unknown
  on(event: 'end' | 'close', listener: () => void): unknown
  on(event: 'error', listener: (error: Error) => void): unknown
  pipe(destination: unknown): unknown
  pause?(): unknown
  resume?(): unknown
  destroy?(error?: Error): unknown
}

/** As undici decides it, and something can be read from it. */
export function isOldStream(body: object): body is OldStream {
  if (body instanceof Writable && !(body instanceof Readable)) return false
  return 'pipe' in body && typeof body.pipe === 'function' && 'on' in body && typeof body.on === 'function'
}

/** Listens from the moment when the request is made: what comes before it is sent isn't lost. */
export class OldStreamReadable extends Readable {
  readonly #stream: OldStream
  /** All of the stream has come, though it may not be read yet. */
  #hasEnded = false

  constructor(stream: OldStream) {
    super()
    this.#stream = stream
    stream.pause?.()
    stream.on('data', (chunk) => this.#receive(chunk))
    stream.on('end', () => this.#end())
    stream.on('error', (error) => this.destroy(error))
    stream.on('close', () => this.#close())
  }

  override _read(): void {
    this.#stream.resume?.()
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    if (!this.#hasEnded) this.#stream.destroy?.(error ?? undefined)
    callback(error)
  }

  #receive(chunk: unknown): void {
    if (!this.destroyed && !this.#hasEnded && !this.push(chunk)) this.#stream.pause?.()
  }

  #end(): void {
    this.#hasEnded = true
    if (!this.destroyed) this.push(null)
  }

  #close(): void {
    if (!this.#hasEnded) this.destroy(new RequestAbortedError('The request body was closed before it ended'))
  }
}
