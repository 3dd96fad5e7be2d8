/**
 * The entry `dodici/undici`: with the import changed, a program written for undici runs on Dodici.
 *
 * @module
 */

import * as all from './all.ts'

export * from './all.ts'
/** All exports in one object, like undici's default export. Tests may add their own functions to it. */
export default { ...all }
