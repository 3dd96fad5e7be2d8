/**
 * The entry `dodici/undici`: with the import changed, a program written for undici runs on Dodici.
 *
 * @module
 */

export * from './all.ts'
/** All of it in one object, as undici's default export is. */
export * as default from './all.ts'
