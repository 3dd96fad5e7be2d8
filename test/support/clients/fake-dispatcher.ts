import { Dispatcher } from '../../../src/index.ts'
import type { AnyDispatchHandler, DispatchOptions } from '../../../types/index.ts'

/** A dispatcher of the caller's that never responds, and records the calls to it. */
export class FakeDispatcher extends Dispatcher {
  readonly closed = false
  readonly destroyed = false
  readonly events: unknown[] = []
  readonly requests: DispatchOptions[] = []
  /** The result of `close()`. */
  closing: () => Promise<void> = () => Promise.resolve()

  get stats() {
    return { size: 0 }
  }

  override dispatch(options: DispatchOptions, _handler: AnyDispatchHandler): boolean {
    this.requests.push(options)
    return true
  }

  override close(): Promise<void>
  override close(callback: () => void): void
  override close(): Promise<void> {
    this.events.push('close')
    return this.closing()
  }

  override destroy(): Promise<void>
  override destroy(error: Error | null): Promise<void>
  override destroy(callback: () => void): void
  override destroy(error: Error | null, callback: () => void): void
  override destroy(error?: unknown): Promise<void> {
    this.events.push(['destroy', error])
    return Promise.resolve()
  }
}
