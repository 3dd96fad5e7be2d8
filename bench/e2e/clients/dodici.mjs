import { createRequire } from 'node:module'
import { Client } from 'dodici'
import { openUndiciShape } from './undici-shape.mjs'

/** @type {{ version: string }} */
const manifest = createRequire(import.meta.url)('../../../package.json')

export const version = manifest.version

/** @type {import('./index.mjs').Adapter['open']} */
export async function open(origin, { connections, ca }) {
  // More than one connection is a pool's work; a Client has one.
  if (connections !== 1) throw new Error('this adapter has one connection')
  return openUndiciShape(new Client(origin, { connect: { ca } }))
}
