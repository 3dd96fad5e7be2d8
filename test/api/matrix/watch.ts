import type { Readable } from 'node:stream'
import { Gate } from './gate.ts'

/** The events of one call. */
export class Watch {
  /** Everything that may happen only once: callbacks, settled promises, and the events that end a stream. */
  readonly heard: string[] = []
  /** The event that is certainly the last: the call is over then. */
  readonly ended = new Gate()
  /** A part of the response's body has come. */
  readonly receiving = new Gate()
  text = ''
  /** Null while there are none, and where the API has no trailers. */
  trailers: object | null = null
  /** The first one. */
  error: Error | null = null
  /** Ends the call from outside. */
  abort: (reason: Error) => void = () => {
    throw new Error('The call has no signal')
  }

  hear(what: string): void {
    this.heard.push(what)
  }

  fail(what: string, error: unknown): void {
    this.hear(what)
    this.error ??= error instanceof Error ? error : new Error(`No error was given but ${String(error)}`)
  }

  data(chunk: Buffer): void {
    this.text += chunk.toString()
    this.receiving.open()
  }

  /** Reads all of a stream; the call is over with its `close`. */
  consume(readable: Readable, onEnd: () => void = () => {}): void {
    readable.on('data', (chunk: Buffer) => this.data(chunk))
    readable.on('error', (error) => this.fail('error', error))
    readable.on('end', () => {
      this.hear('end')
      onEnd()
    })
    readable.on('close', () => {
      this.hear('close')
      this.ended.open()
    })
  }
}
