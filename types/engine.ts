/** What speaks HTTP/2: `'node'` is `node:http2`; `'wire'` frames it itself, over the socket, at a fraction of the cost. */
export type EngineName = 'node' | 'wire'
