/** The streams of node:http2 below the engine `node`, as an instrumentation gets hold of them. */

import { once } from 'node:events'
import type { ClientHttp2Session, ClientHttp2Stream } from 'node:http2'
import { connect } from 'node:http2'
import { PassThrough } from 'node:stream'

/** Node doesn't export the class: an instance leads to it. */
async function toPrototype(): Promise<ClientHttp2Session> {
  const session = connect('http://localhost', { createConnection: () => new PassThrough() })
  const closed = once(session, 'close')
  session.destroy()
  await closed
  return Object.getPrototypeOf(session)
}

/**
 * Sees each stream as `session.request()` returns it, before the engine does. Node's own channels,
 * `http2.client.stream.created` and others, do the same from Node 22 on.
 *
 * @returns how to stop that
 */
export async function watchNodeStreams(onStream: (stream: ClientHttp2Stream) => void): Promise<() => void> {
  const prototype = await toPrototype()
  const { request } = prototype
  prototype.request = function requestWatched(...args) {
    const stream = Reflect.apply(request, this, args)
    onStream(stream)
    return stream
  }
  return () => {
    prototype.request = request
  }
}
