/**
 * An implementation of HTTP/2: `'node'` is `node:http2`; `'wire'` is Dodici's own, over the socket, for less CPU time.
 */
export type EngineName = 'node' | 'wire'
