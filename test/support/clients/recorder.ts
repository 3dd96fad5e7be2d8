import type { DispatchController, DispatchHandler, IncomingHttpHeaders } from '../../../types/index.ts'

/** A handler that writes down what it hears, and tells when the call has settled. */
export class Recorder implements DispatchHandler {
  readonly events: string[] = []
  readonly statuses: number[] = []
  readonly chunks: Buffer[] = []
  readonly errors: Error[] = []
  controller: DispatchController | null = null
  headers: IncomingHttpHeaders | null = null
  trailers: IncomingHttpHeaders | null = null
  /** Settles with the first end, whichever it is. */
  readonly settled: Promise<void>
  #settle: () => void = () => {}

  constructor() {
    this.settled = new Promise((resolve) => {
      this.#settle = resolve
    })
  }

  get text(): string {
    return Buffer.concat(this.chunks).toString()
  }

  /** The one error; throws when there isn't exactly one. */
  get error(): Error {
    const [error] = this.errors
    if (error === undefined || this.errors.length !== 1)
      throw new Error(`${this.errors.length} errors were heard`)
    return error
  }

  onRequestStart(controller: DispatchController): void {
    this.events.push('start')
    this.controller = controller
  }

  onResponseStart(_controller: DispatchController, statusCode: number, headers: IncomingHttpHeaders): void {
    this.events.push(`response ${statusCode}`)
    this.statuses.push(statusCode)
    this.headers = headers
  }

  onResponseData(_controller: DispatchController, chunk: Buffer): void {
    this.events.push('data')
    this.chunks.push(chunk)
  }

  onResponseEnd(_controller: DispatchController, trailers: IncomingHttpHeaders): void {
    this.events.push('end')
    this.trailers = trailers
    this.#settle()
  }

  onResponseError(_controller: DispatchController, error: Error): void {
    this.events.push('error')
    this.errors.push(error)
    this.#settle()
  }
}

/** Takes the header, and nothing more until it is told to. */
export class PausingRecorder extends Recorder {
  override onResponseStart(
    controller: DispatchController,
    statusCode: number,
    headers: IncomingHttpHeaders,
  ): void {
    controller.pause()
    super.onResponseStart(controller, statusCode, headers)
  }
}
