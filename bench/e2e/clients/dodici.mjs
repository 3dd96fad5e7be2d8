import { pathToFileURL } from 'node:url'
import { openUndiciShape } from './undici-shape.mjs'
import { versionOf } from './version.mjs'

/** @type {import('./index.mjs').Adapter['open']} */
export async function open(origins, { connections, ca, engine, entry, api }) {
  // More than one connection is a pool's work; a Client has one.
  if (connections !== 1) throw new Error('this adapter has one connection')
  const url = entry === null ? import.meta.resolve('dodici') : pathToFileURL(entry).href
  /** @type {typeof import('dodici')} */
  const { Agent, Client, fetch } = await import(url)
  const options = { connect: { ca }, engine }
  const dispatcher =
    origins.length === 1 && api !== 'fetch'
      ? new Client(origins[0] ?? '', options)
      : new Agent({ ...options, connections, h2c: true })
  return { ...openUndiciShape(dispatcher, fetch), version: versionOf(url) }
}
