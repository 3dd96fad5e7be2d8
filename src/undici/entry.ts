/**
 * The entry `dodici/undici`: with the import changed, a program written for undici runs on Dodici.
 *
 * @module
 */

import * as all from './all.ts'

export * from './all.ts'
/** All of it in one object, as undici's default export is. Tests may put functions of their own in it. */
export default { ...all }
