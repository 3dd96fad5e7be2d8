import { toFetchStart } from './fetch-shape.mjs'

/**
 * The running Node's fetch as it comes. Up to Node 24 it speaks HTTP/1.1 and nothing else, on as many connections as
 * there are requests in flight. measure.mjs makes it trust the certificate by the environment: it has no option for
 * that.
 *
 * @type {import('./index.mjs').Adapter['open']}
 */
export async function open() {
  return {
    version: `${process.versions.undici} of Node ${process.versions.node}`,
    apis: { fetch: toFetchStart(fetch) },
    // Its connections are idle by now, and go with the process.
    close: async () => {},
  }
}
