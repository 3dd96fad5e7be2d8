import { context } from 'fetch-h2'
import { toFetchStart } from './fetch-shape.mjs'
import { versionOf } from './version.mjs'

const version = versionOf(import.meta.resolve('fetch-h2'))

/** @type {import('./index.mjs').Adapter['open']} */
export async function open(_, { ca }) {
  const { fetch, disconnectAll } = context({
    httpProtocol: 'http2',
    httpsProtocols: ['http2'],
    session: ca === undefined ? {} : { ca },
  })
  return { version, apis: { fetch: toFetchStart(fetch) }, close: disconnectAll }
}
