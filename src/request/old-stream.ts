/**
 * Streams older than Node's Readable, such as a `Stream` that emits `data`, or forms from the package `form-data`.
 *
 * @module
 */

import { Readable, Writable } from 'node:stream'
import { RequestAbortedError } from '../errors/errors.ts'

/** The members of such a stream that are used. It may emit data whether it was asked or not. */
export interface OldStream {
  on(event: 'data', listener: (chunk: unknown) => void): unknown
  on(event: 'end' | 'close', listener: () => void): unknown
  on(event: 'error', listener: (error: Error) => void): unknown
  pipe(destination: unknown): unknown
  pause?(): unknown
  resume?(): unknown
  destroy?(error?: Error): unknown
}

/** Whether it is one that can be read from, decided as in undici. */
export function isOldStream(body: object): body is OldStream {
  if (body instanceof Writable && !(body instanceof Readable)) return false
  return 'pipe' in body && typeof body.pipe === 'function' && 'on' in body && typeof body.on === 'function'
}

/** Listens from when the request is created, so that data which arrives before it is sent isn't lost. */
export class OldStreamReadable extends Readable {
  readonly #stream: OldStream
  /** Whether the whole stream has arrived; it may not have been read yet. */
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
