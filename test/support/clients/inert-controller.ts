/** A controller that does nothing: a test spreads it, and brings what matters to it. */
export const INERT = {
  aborted: false,
  paused: false,
  reason: null,
  rawHeaders: null,
  rawTrailers: null,
  abort() {},
  pause() {},
  resume() {},
}
