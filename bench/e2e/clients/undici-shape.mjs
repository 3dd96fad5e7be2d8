/**
 * One adapter for everything with undici's programming model: dodici and undici run the very same lines, so
 * that a difference between them can't come from here.
 *
 * @typedef {import('./index.mjs').Target} Target
 * @typedef {import('./index.mjs').Done} Done
 */

/**
 * The part of an undici-shaped dispatcher that the benchmark uses.
 *
 * @typedef {Target & { headers: Record<string, string> }} RequestOptions
 * @typedef {{ statusCode: number, body: { text(): Promise<string> } }} Answer
 * @typedef {{
 *   dispatch(options: RequestOptions, handler: object): boolean
 *   request(options: RequestOptions): Promise<Answer>
 *   close(): Promise<void>
 * }} DispatcherLike
 */

class CountingHandler {
  /** @param {Done} done */
  constructor(done) {
    this.done = done
    this.status = 0
    this.bytes = 0
  }

  onRequestStart() {}

  /**
   * @param {object} _controller
   * @param {number} status
   */
  onResponseStart(_controller, status) {
    this.status = status
  }

  /**
   * @param {object} _controller
   * @param {Uint8Array} chunk
   */
  onResponseData(_controller, chunk) {
    this.bytes += chunk.length
  }

  onResponseEnd() {
    this.done(null, this.status, this.bytes)
  }

  /**
   * @param {object} _controller
   * @param {Error} error
   */
  onResponseError(_controller, error) {
    this.done(error, this.status, this.bytes)
  }
}

/**
 * @param {DispatcherLike} dispatcher
 * @returns {import('./index.mjs').Opened}
 */
export function openUndiciShape(dispatcher) {
  return {
    apis: {
      /**
       * @param {Target} target
       * @param {Done} done
       */
      dispatch({ path, method }, done) {
        const headers = { accept: '*/*', 'user-agent': 'bench' }
        dispatcher.dispatch({ path, method, headers }, new CountingHandler(done))
      },

      /**
       * @param {Target} target
       * @param {Done} done
       */
      request({ path, method }, done) {
        const failed = (/** @type {Error} */ error) => done(error, 0, 0)
        const headers = { accept: '*/*', 'user-agent': 'bench' }
        dispatcher.request({ path, method, headers }).then(
          // The body is ASCII, so the length of the text is its number of bytes.
          ({ statusCode, body }) => body.text().then((text) => done(null, statusCode, text.length), failed),
          failed,
        )
      },
    },
    close: () => dispatcher.close(),
  }
}
