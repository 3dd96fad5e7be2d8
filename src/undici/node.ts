/**
 * Node's globals, which Dodici's fetch uses.
 *
 * @module
 */

export const { File, FormData, Headers, Request, Response } = globalThis
