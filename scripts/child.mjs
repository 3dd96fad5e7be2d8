/**
 * What the parent process may ask for, by name: a method with at most one argument. What it returns, or resolves to, is sent back.
 *
 * @typedef {Readonly<Record<string, (argument: never) => unknown>>} Methods
 */

/**
 * Has the parent process of this one call these methods, and tells their results. The process ends with its parent.
 *
 * @param {Methods} methods
 */
export function serve(methods) {
  process.on('message', async (/** @type {{ call: number, method: string, argument: never }} */ message) => {
    const { call, method, argument } = message
    process.send?.({ call, result: await methods[method](argument) })
  })
  process.on('disconnect', () => process.exit())
}

/** Tells the parent process without being asked. @param {object} event */
export const tell = (event) => void process.send?.({ event })
