/**
 * How far the response of an attempt has come, on either engine.
 *
 * @module
 */

/**
 * As the call was told: `open → responded → done`, `open → tunnel → done`, or `open → done`.
 *
 * `done` is said once: completely answered, failed, or cancelled. The stream itself may still be open, or closing,
 * then.
 */
export type ResponseStage = 'open' | 'responded' | 'tunnel' | 'done'
